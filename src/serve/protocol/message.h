// SPDX-License-Identifier: Apache-2.0
// Encoding of messages: MessagePack, or JSON with bytes as base64.
#pragma once

#include <string>
#include <string_view>

#include "loci/base/config.h"

namespace loci::serve {

enum class Encoding { kMessagePack, kJson };

// The message must be one map. Damaged or too deeply nested input is refused ("bad_message") before
// it can use much stack, or memory beyond its own size.
Json decode_message(std::string_view bytes, Encoding encoding, int depth_limit);
std::string encode_message(const Json& message, Encoding encoding);

// A value that holds bytes.
Json binary(std::string_view bytes);

// The bytes in a client's `field`: bin of MessagePack, base64 text, or a data: URL. Other values
// are refused.
std::string bytes_of(const Json& value, std::string_view field);

std::string base64_encode(std::string_view bytes);
// Invalid text is refused ("bad_request").
std::string base64_decode(std::string_view text);

}  // namespace loci::serve
