// SPDX-License-Identifier: Apache-2.0
#include "tests/serve/test_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>

#include <gtest/gtest.h>

#include "loci/base/text.h"

#include "tests/serve/conformance.h"

namespace loci::serve::testing {

Socket::Socket(uint16_t port) : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
}

Socket::~Socket() { close(); }

void Socket::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

void Socket::shrink_receive_buffer() {
  const int size = 1 << 15;
  ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

bool Socket::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::optional<std::string> Socket::receive(double seconds) {
  pollfd wait{descriptor_, POLLIN, 0};
  if (::poll(&wait, 1, static_cast<int>(seconds * 1e3)) <= 0) return std::nullopt;
  std::array<char, 65536> piece{};
  const ssize_t size = ::recv(descriptor_, piece.data(), piece.size(), 0);
  return std::string(piece.data(), size > 0 ? static_cast<size_t>(size) : 0);
}

Answer http(uint16_t port, const std::string& method, const std::string& target,
            const Headers& headers, const std::string& body) {
  Socket socket(port);
  std::string text = fmt::format("{} {} HTTP/1.1\r\nConnection: close\r\n", method, target);
  bool host = false;
  for (const auto& [name, value] : headers) {
    text += fmt::format("{}: {}\r\n", name, value);
    host = host || name == "Host";
  }
  if (!host) text += fmt::format("Host: 127.0.0.1:{}\r\n", port);
  if (!body.empty()) text += fmt::format("Content-Length: {}\r\n", body.size());
  socket.send(text + "\r\n" + body);
  std::string all;
  while (true) {
    const std::optional<std::string> piece = socket.receive();
    if (!piece || piece->empty()) break;
    all += *piece;
  }
  Answer answer;
  const size_t end = all.find("\r\n\r\n");
  if (end == all.npos) return answer;
  answer.body = all.substr(end + 4);
  std::string head = all.substr(0, end);
  std::erase(head, '\r');
  const std::vector<std::string_view> lines = split(head, '\n');
  answer.status = static_cast<int>(parse_int(lines[0].substr(9, 3)).value_or(0));
  for (size_t i = 1; i < lines.size(); ++i) {
    const size_t colon = lines[i].find(':');
    std::string name(lines[i].substr(0, colon));
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    answer.headers[name] = trim(lines[i].substr(colon + 1));
  }
  return answer;
}

WalkClient::WalkClient(uint16_t port, bool json, const Headers& headers)
    : socket_(port), json_(json) {
  std::string text = "GET /v1/realtime_video/generate HTTP/1.1\r\n";
  bool host = false;
  for (const auto& [name, value] : headers) {
    text += fmt::format("{}: {}\r\n", name, value);
    host = host || name == "Host";
  }
  if (!host) text += fmt::format("Host: 127.0.0.1:{}\r\n", port);
  text +=
      "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
  socket_.send(text);
  while (buffer_.find("\r\n\r\n") == buffer_.npos) {
    const std::optional<std::string> piece = socket_.receive();
    if (!piece || piece->empty()) return;
    buffer_ += *piece;
  }
  status_ = static_cast<int>(parse_int(std::string_view(buffer_).substr(9, 3)).value_or(0));
  buffer_.erase(0, buffer_.find("\r\n\r\n") + 4);
}

void WalkClient::send_frame(int opcode, std::string_view payload, bool masked) {
  std::string frame(1, static_cast<char>(0x80 | opcode));
  const int mask_bit = masked ? 0x80 : 0;
  if (payload.size() < 126) {
    frame += static_cast<char>(mask_bit | static_cast<int>(payload.size()));
  } else {
    const bool wide = payload.size() > 0xffff;
    frame += static_cast<char>(mask_bit | (wide ? 127 : 126));
    for (int i = wide ? 7 : 1; i >= 0; --i)
      frame += static_cast<char>(payload.size() >> (8 * i) & 0xff);
  }
  constexpr std::string_view kMask = "\x12\x34\x56\x78";
  if (masked) frame += kMask;
  for (size_t i = 0; i < payload.size(); ++i) {
    frame += masked ? static_cast<char>(payload[i] ^ kMask[i % 4]) : payload[i];
  }
  socket_.send(frame);
}

void WalkClient::send(const Json& message) {
  if (json_) return send_frame(1, message.dump());
  std::string bytes;
  Json::to_msgpack(message, bytes);
  send_frame(2, bytes);
}

bool WalkClient::fill(size_t size, double seconds) {
  while (buffer_.size() < size) {
    const std::optional<std::string> piece = socket_.receive(seconds);
    if (!piece || piece->empty()) return false;
    buffer_ += *piece;
  }
  return true;
}

std::optional<Json> WalkClient::next(double seconds) {
  while (true) {
    if (!fill(2, seconds)) return std::nullopt;
    const auto byte = [this](size_t i) { return static_cast<unsigned char>(buffer_[i]); };
    const int opcode = byte(0) & 0x0f;
    uint64_t size = byte(1) & 0x7f;
    size_t head = 2;
    if (size >= 126) {
      const size_t wide = size == 126 ? 2 : 8;
      if (!fill(2 + wide, seconds)) return std::nullopt;
      size = 0;
      for (size_t i = 0; i < wide; ++i) size = size << 8 | byte(2 + i);
      head += wide;
    }
    if (!fill(head + size, seconds)) return std::nullopt;
    const std::string payload = buffer_.substr(head, size);
    buffer_.erase(0, head + size);
    if (opcode == 9) {
      send_frame(10, payload);
    } else if (opcode == 8) {
      if (payload.size() >= 2) {
        close_code_ =
            static_cast<unsigned char>(payload[0]) << 8 | static_cast<unsigned char>(payload[1]);
      }
      send_frame(8, payload);
      return std::nullopt;
    } else if (opcode == 1 || opcode == 2) {
      Json message = opcode == 1 ? Json::parse(payload) : Json::from_msgpack(payload);
      const std::string type = message.value("type", "");
      // A pong repeats the fields of its ping.
      if (type != "pong") {
        EXPECT_EQ(differs_from_schema(message, type), "");
      }
      return message;
    }
  }
}

Json WalkClient::until(const std::string& type, double seconds) {
  std::string seen;
  while (const std::optional<Json> message = next(seconds)) {
    if ((*message)["type"] == type) return *message;
    seen = (*message)["type"] == "error" ? message->dump() : seen;
  }
  ADD_FAILURE() << "no message of type " << type << "; close code " << close_code_
                << ", last error " << seen;
  return Json::object();
}

Json WalkClient::until_chunk(int64_t view, double seconds) {
  while (true) {
    Json stats = until("chunk_stats", seconds);
    if (stats.empty() || (stats["view"] == view && stats["replayed"] == false)) return stats;
  }
}

}  // namespace loci::serve::testing
