// SPDX-License-Identifier: Apache-2.0
// docs/protocol.md as JSON Schema, for `GET /schema`.
#pragma once

#include "loci/base/config.h"

namespace loci::serve {

Json protocol_schema();

}  // namespace loci::serve
