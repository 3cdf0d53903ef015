// SPDX-License-Identifier: Apache-2.0
// A look over MessagePack before it is decoded.
#pragma once

#include <string_view>

namespace loci::serve {

// Refuses ("bad_message") anything but one complete value without nesting beyond `depth_limit`: the
// decoder calls itself for every level, and a few bytes may announce four thousand million items.
void check_msgpack(std::string_view bytes, int depth_limit);

}  // namespace loci::serve
