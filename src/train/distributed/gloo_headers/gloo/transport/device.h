// SPDX-License-Identifier: Apache-2.0
// Names that libtorch's process group mentions; see ../../README.md.
#pragma once

namespace gloo::transport {
class Device;
}  // namespace gloo::transport
