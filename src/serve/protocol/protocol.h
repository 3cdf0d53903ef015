// SPDX-License-Identifier: Apache-2.0
// Version and route of the protocol in docs/protocol.md.
#pragma once

#include <cstdint>
#include <string_view>

namespace loci::serve {

inline constexpr int64_t kProtocol = 1;
inline constexpr std::string_view kWalkRoute = "/v1/realtime_video/generate";

}  // namespace loci::serve
