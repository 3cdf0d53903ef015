// SPDX-License-Identifier: Apache-2.0
// Test clients on plain sockets. They share no code with the network side of the server.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loci/base/config.h"

namespace loci::serve::testing {

// A TCP connection to loopback. Every wait has a time limit.
class Socket {
 public:
  explicit Socket(uint16_t port);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // False if the server has closed the connection.
  bool send(std::string_view bytes);
  // At least one byte; empty at the end of the stream; nothing after a timeout.
  std::optional<std::string> receive(double seconds = 30);
  void shrink_receive_buffer();  // for a slow reader
  void close();

 private:
  int descriptor_ = -1;
};

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Answer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  Json json() const { return Json::parse(body); }
};

Answer http(uint16_t port, const std::string& method, const std::string& target,
            const Headers& headers = {}, const std::string& body = "");

// A WebSocket client.
class WalkClient {
 public:
  // `json`: send JSON instead of MessagePack. status() is the status of the upgrade, 101 if it was
  // accepted.
  explicit WalkClient(uint16_t port, bool json = false, const Headers& headers = {});

  int status() const { return status_; }
  void send(const Json& message);
  void send_frame(int opcode, std::string_view payload, bool masked = true);
  // The next message, checked against the schema; nothing at the end of the connection or after a
  // timeout.
  std::optional<Json> next(double seconds = 30);
  // Skips to the next message of a type. Fails the test if there is none.
  Json until(const std::string& type, double seconds = 30);
  // Skips to the chunk_stats of a new chunk of a view.
  Json until_chunk(int64_t view = 0, double seconds = 30);
  // The code of the close frame; 0 before it arrives.
  int close_code() const { return close_code_; }
  Socket& socket() { return socket_; }

 private:
  bool fill(size_t size, double seconds);

  Socket socket_;
  bool json_;
  int status_ = 0;
  int close_code_ = 0;
  std::string buffer_;
};

}  // namespace loci::serve::testing
