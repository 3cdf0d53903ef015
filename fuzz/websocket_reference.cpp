// SPDX-License-Identifier: Apache-2.0
#include "fuzz/websocket_reference.h"

#include <cstdint>
#include <optional>

#include "loci/base/error.h"

namespace loci::fuzz {

namespace {

enum Opcode : uint8_t { kContinuation = 0, kText = 1, kBinary = 2, kClose = 8, kPing = 9, kPong = 10 };

constexpr uint64_t kControlBytes = 125;

bool valid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const size_t size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3
                                                       : lead < 0xf5    ? 4
                                                                        : 0;
    if (size == 0 || at + size > text.size()) return false;
    for (size_t i = 1; i < size; ++i) {
      if ((static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) return false;
    }
    const auto second = size > 1 ? static_cast<unsigned char>(text[at + 1]) : 0;
    // Overlong forms, surrogates and numbers above 10FFFF.
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
        (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) {
      return false;
    }
    at += size;
  }
  return true;
}

struct Frame {
  bool last = false, reserved = false, masked = false, shortest = true;
  uint8_t opcode = 0;
  std::string payload;
};

// Nothing if the stream ends within the frame.
std::optional<Frame> take_frame(std::string_view& stream) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(stream[at]); };
  if (stream.size() < 2) return std::nullopt;
  Frame frame;
  frame.last = (byte(0) & 0x80) != 0;
  frame.reserved = (byte(0) & 0x70) != 0;
  frame.opcode = byte(0) & 0x0f;
  frame.masked = (byte(1) & 0x80) != 0;
  uint64_t size = byte(1) & 0x7f;
  size_t at = 2;
  if (size >= 126) {
    const size_t bytes = size == 126 ? 2 : 8;
    if (stream.size() < at + bytes) return std::nullopt;
    size = 0;
    for (size_t i = 0; i < bytes; ++i) size = size << 8 | byte(at++);
    frame.shortest = size >= (bytes == 2 ? 126U : 65536U);
  }
  const size_t mask = at;
  if (frame.masked) at += 4;
  if (stream.size() < at || stream.size() - at < size) return std::nullopt;
  frame.payload = stream.substr(at, size);
  if (frame.masked) {
    for (size_t i = 0; i < size; ++i) {
      frame.payload[i] = static_cast<char>(frame.payload[i] ^ stream[mask + i % 4]);
    }
  }
  stream.remove_prefix(at + size);
  return frame;
}

// Whether the frame violates the protocol. `within`: a fragmented message has begun.
bool violates(const Frame& frame, bool from_client, bool within) {
  if (frame.reserved || !frame.shortest || frame.masked != from_client) return true;
  if (frame.opcode >= kClose) {
    return frame.opcode > kPong || !frame.last || frame.payload.size() > kControlBytes;
  }
  if (frame.opcode > kBinary) return true;
  return (frame.opcode == kContinuation) != within;
}

std::vector<WebSocketMessage> read(std::string_view stream, bool from_client, bool& violation) {
  std::vector<WebSocketMessage> messages;
  std::optional<WebSocketMessage> begun;
  violation = false;
  while (const auto frame = take_frame(stream)) {
    if (violates(*frame, from_client, begun.has_value())) {
      violation = true;
      break;
    }
    if (frame->opcode == kClose) break;
    if (frame->opcode > kClose) continue;
    if (!begun) begun = WebSocketMessage{frame->opcode == kText, ""};
    begun->bytes += frame->payload;
    if (!frame->last) continue;
    if (begun->text && !valid_utf8(begun->bytes)) {
      violation = true;
      break;
    }
    messages.push_back(std::move(*begun));
    begun.reset();
  }
  return messages;
}

}  // namespace

std::vector<WebSocketMessage> websocket_messages(std::string_view sent_by_client) {
  bool violation = false;
  return read(sent_by_client, true, violation);
}

std::vector<WebSocketMessage> checked_websocket_messages(std::string_view sent_by_server) {
  bool violation = false;
  std::vector<WebSocketMessage> messages = read(sent_by_server, false, violation);
  LOCI_CHECK(!violation, "the server violates the WebSocket protocol");
  return messages;
}

}  // namespace loci::fuzz
