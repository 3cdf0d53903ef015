// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/protocol/message.h"

#include <array>
#include <cstdint>
#include <vector>

#include "loci/serve/net/refusal.h"
#include "loci/serve/protocol/msgpack_scan.h"

namespace loci::serve {

namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> base64_values() {
  std::array<int8_t, 256> values{};
  for (int8_t& value : values) value = -1;
  for (size_t i = 0; i < kBase64.size(); ++i) {
    values[static_cast<unsigned char>(kBase64[i])] = static_cast<int8_t>(i);
  }
  return values;
}

// A copy in which all bytes are base64 text.
Json without_binary(const Json& value) {
  if (value.is_binary()) {
    const auto& bytes = value.get_binary();
    return base64_encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  if (value.is_object()) {
    Json copy = Json::object();
    for (const auto& [key, item] : value.items()) copy[key] = without_binary(item);
    return copy;
  }
  if (value.is_array() &&
      std::any_of(value.begin(), value.end(), [](const Json& v) { return !v.is_primitive(); })) {
    Json copy = Json::array();
    for (const Json& item : value) copy.push_back(without_binary(item));
    return copy;
  }
  return value;
}

Json parse_text(std::string_view text, int depth_limit) {
  const auto watch = [depth_limit](int depth, Json::parse_event_t, Json&) {
    if (depth > depth_limit)
      refuse("bad_message", "the message is nested more than {} levels deep", depth_limit);
    return true;
  };
  return Json::parse(text, watch);
}

}  // namespace

Json decode_message(std::string_view bytes, Encoding encoding, int depth_limit) {
  Json message;
  try {
    if (encoding == Encoding::kJson) {
      message = parse_text(bytes, depth_limit);
    } else {
      check_msgpack(bytes, depth_limit);
      message = Json::from_msgpack(bytes);
    }
  } catch (const Json::exception&) {
    refuse("bad_message", "the message is not valid {}",
           encoding == Encoding::kJson ? "JSON" : "MessagePack");
  }
  if (!message.is_object()) refuse("bad_message", "the message must be a map");
  return message;
}

std::string encode_message(const Json& message, Encoding encoding) {
  if (encoding == Encoding::kJson) {
    return without_binary(message).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  std::string bytes;
  Json::to_msgpack(message, bytes);
  return bytes;
}

Json binary(std::string_view bytes) {
  return Json::binary(std::vector<uint8_t>(bytes.begin(), bytes.end()));
}

std::string bytes_of(const Json& value, std::string_view field) {
  if (value.is_binary()) {
    const auto& bytes = value.get_binary();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  if (!value.is_string()) refuse("bad_request", "{}: expected bytes or base64", field);
  std::string_view text = value.get_ref<const std::string&>();
  if (text.starts_with("data:")) {
    const size_t comma = text.find(";base64,");
    if (comma == std::string_view::npos)
      refuse("bad_request", "{}: expected a data: URL with base64", field);
    text.remove_prefix(comma + 8);
  }
  return base64_decode(text);
}

std::string base64_encode(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (size_t j = 0; j < 4; ++j) {
      const bool padding = i + j > bytes.size();
      text += padding ? '=' : kBase64[group >> (18 - 6 * j) & 63];
    }
  }
  return text;
}

std::string base64_decode(std::string_view text) {
  static constexpr std::array<int8_t, 256> kValues = base64_values();
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    const int8_t value = kValues[static_cast<unsigned char>(c)];
    if (value < 0) refuse("bad_request", "the text is not valid base64");
    group = group << 6 | static_cast<uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(group >> bits & 0xff);
    }
  }
  if (bits >= 6) refuse("bad_request", "the base64 text is truncated");
  return bytes;
}

}  // namespace loci::serve
