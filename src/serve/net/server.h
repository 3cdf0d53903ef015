// SPDX-License-Identifier: Apache-2.0
// The server: sockets and network threads around the services.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "loci/serve/net/access.h"
#include "loci/serve/net/limits.h"

namespace loci::serve {

struct ServerOptions {
  std::vector<std::filesystem::path> models;
  bool bf16 = false;
  std::filesystem::path data;
  std::filesystem::path starts;  // pictures; may be empty
  std::string address = "127.0.0.1";
  uint16_t port = 8080;  // 0: any free one
  int threads = 2;       // of the network
  AccessOptions access;  // `loopback` is set from the address
  Limits limits;
};

class Server {
 public:
  // Loads the models and listens; bad input where that is impossible, and where an address that
  // others can reach is asked for without a token.
  explicit Server(ServerOptions options);
  // Stops.
  ~Server();

  uint16_t port() const;
  // Connections are told to go, the turn in work ends, memories are kept on disk.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace loci::serve
