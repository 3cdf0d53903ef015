// SPDX-License-Identifier: Apache-2.0
// Messages as bytes: MessagePack, or JSON with base64 in place of bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "loci/base/config.h"

namespace loci::serve {

enum class Encoding { kMessagePack, kJson };

// One map. Damaged, too deeply nested or other input is refused ("bad_message") before it can cost
// stack or memory beyond its own size.
Json decode_message(std::string_view bytes, Encoding encoding, int depth_limit);
std::string encode_message(const Json& message, Encoding encoding);

// Bytes for a message.
Json binary(std::string_view bytes);
Json binary(std::span<const std::byte> bytes);

// Bytes of a client: bin of MessagePack, or base64, or a data: address. Anything else is refused.
std::string bytes_of(const Json& value, std::string_view field);

std::string base64_encode(std::string_view bytes);
std::string base64_decode(std::string_view text);  // refused ("bad_request") if it is none

}  // namespace loci::serve
