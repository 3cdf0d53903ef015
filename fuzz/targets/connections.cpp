// SPDX-License-Identifier: Apache-2.0
// Whole connections of the server: HTTP framing and WebSocket frames. The bytes of the input choose
// parts of requests and frames from tables, so that most inputs get far. An independent reference
// says what the server may do with them.
#include <array>
#include <set>
#include <string>

#include "loci/base/config.h"
#include "loci/base/error.h"

#include "fuzz/http_reference.h"
#include "fuzz/target.h"
#include "fuzz/websocket_reference.h"
#include "fuzz/wire.h"

namespace loci::fuzz {

namespace {

constexpr size_t kMostBytes = 16 << 10;  // of a stream

// Takes `count` bytes, or what is left.
std::string_view take(std::string_view& bytes, size_t count) {
  const std::string_view taken = bytes.substr(0, count);
  bytes.remove_prefix(taken.size());
  return taken;
}

template <size_t N>
std::string_view choose(std::string_view& bytes, const std::array<std::string_view, N>& table) {
  return table[take_choice(bytes, N)];
}

constexpr std::array<std::string_view, 8> kStarts = {
    "GET /health HTTP/1.1",   "GET /v1/nothing HTTP/1.1", "POST /v1/nothing HTTP/1.1",
    "GET /health HTTP/1.0",   "PUT /v1/worlds/a HTTP/1.1", "GET http://a/health HTTP/1.1",
    "OPTIONS * HTTP/1.1",     "DELETE /v1/worlds/world_a HTTP/1.1"};

constexpr std::array<std::string_view, 40> kFields = {
    "Host: 127.0.0.1",
    "Host: localhost:80",
    "Host: evil.example",
    "Host : 127.0.0.1",
    "host:127.0.0.1",
    "Origin: http://127.0.0.1",
    "Content-Length: 5",
    "Content-Length: 0",
    "Content-Length: 05",
    "Content-Length: +5",
    "Content-Length: -5",
    "Content-Length: 5, 5",
    "Content-Length: 5, 6",
    "Content-Length: 0x5",
    "Content-Length: 99999999999999999999",
    "Content-Length: 18446744073709551621",
    "Content-Length:",
    "Content-Length : 5",
    "Content-Length: 5\x0b",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: Chunked",
    "Transfer-Encoding: xchunked",
    "Transfer-Encoding: chunked, identity",
    "Transfer-Encoding: identity, chunked",
    "Transfer-Encoding: gzip, chunked",
    "Transfer-Encoding: chunked, chunked",
    "Transfer-Encoding: \"chunked\"",
    "Transfer-Encoding: chunked;a=b",
    "Transfer-Encoding: identity",
    "Transfer-Encoding:",
    "Transfer-Encoding : chunked",
    "Transfer-Encoding:\tchunked\t",
    " Transfer-Encoding: chunked",
    "Connection: close",
    "Connection: keep-alive",
    "Connection: Content-Length",
    "Expect: 100-continue",
    "Content-Type: application/json",
    "X-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "Authorization: Bearer x"};

constexpr std::array<std::string_view, 24> kBodies = {
    "",
    "12345",
    "5\r\n12345\r\n0\r\n\r\n",
    "05\r\n12345\r\n000\r\n\r\n",
    "5;a=b\r\n12345\r\n0;c\r\n\r\n",
    "5;a=\"\r\n12345\r\n0\r\n\r\n",
    "5\r\n12345\r\n0\r\nHost: 127.0.0.1\r\n\r\n",
    "0\r\nContent-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n",
    "5\n12345\n0\n\n",
    "5 \r\n12345\r\n0\r\n\r\n",
    " 5\r\n12345\r\n0\r\n\r\n",
    "5\r\n1234567\r\n0\r\n\r\n",
    "0x5\r\n12345\r\n0\r\n\r\n",
    "-5\r\n12345\r\n0\r\n\r\n",
    "fffffffffffffffff\r\n12345\r\n0\r\n\r\n",
    "10000000000000005\r\n12345\r\n0\r\n\r\n",
    "\r\n12345\r\n0\r\n\r\n",
    "5\r\n12345",
    "5\r\n12345\r\n",
    "5\r\n12345\r\n0\r\n",
    "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "0\r\n\r\nGET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "\r\n",
    "\n"};

constexpr std::array<std::string_view, 6> kLineEnds = {"\r\n", "\r\n", "\r\n", "\n", "\r", "\r\r\n"};

// Builds a stream of requests. The high bit of a choice copies bytes of the input instead.
std::string requests(std::string_view bytes) {
  std::string stream;
  const auto add = [&](auto& table) {
    if (bytes.empty()) return;
    if ((static_cast<unsigned char>(bytes.front()) & 0x80) != 0) {
      const size_t size = take_choice(bytes, 32);
      stream += take(bytes, size);
    } else {
      stream += choose(bytes, table);
    }
  };
  while (!bytes.empty() && stream.size() < kMostBytes) {
    // Most requests have an ordinary end of line and a Host.
    const size_t kind = take_choice(bytes, 16);
    const std::string_view end = kind < 12 ? kLineEnds[0] : choose(bytes, kLineEnds);
    add(kStarts);
    stream += end;
    if (kind < 8) stream += "Host: 127.0.0.1\r\n";
    for (size_t fields = take_choice(bytes, 6); fields > 0 && !bytes.empty(); --fields) {
      add(kFields);
      stream += end;
    }
    stream += end;
    add(kBodies);
  }
  stream.resize(std::min(stream.size(), kMostBytes));
  return stream;
}

std::string described(const std::vector<int>& statuses) {
  return fmt::format("{}", fmt::join(statuses, ", "));
}

void check_http(std::string_view stream) {
  const std::vector<Framing> expected = http_framing(stream);
  const std::vector<int> statuses = http_statuses(answer_of_server(stream));
  for (size_t i = 0; i < statuses.size(); ++i) {
    LOCI_CHECK(statuses[i] != 500, "request {} was answered with 500", i);
    LOCI_CHECK(i < expected.size(), "{} requests were answered with {}", expected.size(),
               described(statuses));
    const bool more = i + 1 < statuses.size();
    switch (expected[i]) {
      case Framing::kValid:
        break;
      case Framing::kLast:
        LOCI_CHECK(!more, "request {} ends the connection; the answers were {}", i,
                   described(statuses));
        break;
      case Framing::kMalformed:
      case Framing::kIncomplete:
        LOCI_CHECK(!more && (statuses[i] >= 400 || statuses[i] == 0),
                   "request {} is {}; the answers were {}", i,
                   expected[i] == Framing::kMalformed ? "malformed" : "incomplete",
                   described(statuses));
        break;
      case Framing::kUnclear:
        return;
    }
  }
}

constexpr std::string_view kUpgrade =
    "GET /v1/realtime_video/generate HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    "Sec-WebSocket-Version: 13\r\n\r\n";

constexpr std::array<std::string_view, 12> kPayloads = {
    R"({"type": "ping", "t": 1})",
    R"({"type": "ping", "t": 2})",
    R"({"type": "list_worlds", "request_id": 3})",
    R"({"type": )",
    R"("ping", "t": 4})",
    "\x82\xa4type\xa4ping\xa1t\x05",
    "\x82\xa4type\xa4",
    "ping\xa1t\x06",
    "\xff\xfe",
    "{\"type\": \"ping\", \"t\": \"\xc3\xa9\xf0\x9f\x98\x80\"}",
    "\xc3",
    "\x03\xe8"};

constexpr std::array<uint8_t, 16> kOpcodes = {1, 1, 1, 2, 2, 0, 0, 0, 8, 9, 9, 10, 3, 7, 11, 15};

// Builds the frames of a client. Five bytes choose opcode, flags, form of the length and payload.
std::string frames(std::string_view bytes) {
  std::string stream;
  while (!bytes.empty() && stream.size() < kMostBytes) {
    const uint8_t opcode = kOpcodes[take_choice(bytes, kOpcodes.size())];
    const size_t flags = take_choice(bytes, 256);
    const size_t form = take_choice(bytes, 32);
    const size_t kind = take_choice(bytes, kPayloads.size() + 4);
    std::string payload(kind < kPayloads.size() ? kPayloads[kind]
                                                : take(bytes, take_choice(bytes, 200)));
    // A control frame that is too long, and messages for which the next form of length is right.
    if (form == 1) payload.resize(126, ' ');
    if (form == 2) payload.resize(66'000, ' ');
    const bool last = (flags & 3) != 0;
    const bool masked = (flags & 0x1c) != 0;
    const uint8_t reserved = (flags & 0xe0) == 0xe0 ? 0x40 : 0;
    stream += static_cast<char>((last ? 0x80 : 0) | reserved | opcode);
    uint64_t size = payload.size();
    if (form == 3) size += 1;
    if (form == 4) size = uint64_t{1} << 63;
    const char mask_bit = masked ? '\x80' : '\0';
    const size_t digits = form == 4 || form == 5 || size > 65'535 ? 8
                          : form == 6 || size > 125               ? 2
                                                                  : 0;
    stream += static_cast<char>(mask_bit | (digits == 8   ? 127
                                            : digits == 2 ? 126
                                                          : static_cast<char>(size)));
    for (size_t i = digits; i > 0; --i) stream += static_cast<char>(size >> (8 * (i - 1)));
    const std::string_view mask("\x1f\x8b\x00\xa5", 4);
    if (masked) stream += mask;
    for (size_t i = 0; i < payload.size(); ++i) {
      stream += masked ? static_cast<char>(payload[i] ^ mask[i % 4]) : payload[i];
    }
  }
  return stream;
}

// The "t" of a ping or pong message as text; empty for other messages.
std::string time_of(const WebSocketMessage& message, std::string_view type) {
  const Json json = message.text
                        ? Json::parse(message.bytes, nullptr, /*allow_exceptions=*/false)
                        : Json::from_msgpack(message.bytes, true, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("type", Json()) != type) return {};
  return json.value("t", Json()).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void check_websocket(std::string_view stream) {
  const std::string answer = answer_of_server(std::string(kUpgrade) + std::string(stream));
  const size_t end = answer.find("\r\n\r\n");
  LOCI_CHECK(answer.starts_with("HTTP/1.1 101") && end != std::string::npos,
             "the upgrade was refused: {}", answer.substr(0, 80));
  std::multiset<std::string> asked;
  for (const WebSocketMessage& message : websocket_messages(stream)) {
    asked.insert(time_of(message, "ping"));
  }
  for (const WebSocketMessage& message :
       checked_websocket_messages(std::string_view(answer).substr(end + 4))) {
    const std::string time = time_of(message, "pong");
    if (time.empty()) {
      LOCI_CHECK(message.bytes.find("internal") == std::string::npos, "the reply is {}",
                 message.bytes);
      continue;
    }
    const auto found = asked.find(time);
    LOCI_CHECK(found != asked.end(), "the server answers a ping that was not sent: {}", time);
    asked.erase(found);
  }
}

}  // namespace

LOCI_FUZZ_TARGET(http_framing) { check_http(requests(bytes)); }
LOCI_FUZZ_TARGET(websocket_frames) { check_websocket(frames(bytes)); }

}  // namespace loci::fuzz
