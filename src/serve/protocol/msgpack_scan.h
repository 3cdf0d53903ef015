// SPDX-License-Identifier: Apache-2.0
// Validation of MessagePack before it is decoded.
#pragma once

#include <string_view>

namespace loci::serve {

// Refuses ("bad_message") anything but one complete value with at most `depth_limit` levels. The
// decoder recurses for every level, and a few bytes can announce a list of 2^32 items.
void check_msgpack(std::string_view bytes, int depth_limit);

}  // namespace loci::serve
