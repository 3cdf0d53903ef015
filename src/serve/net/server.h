// SPDX-License-Identifier: Apache-2.0
// The server: listening socket and network threads.
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
  std::filesystem::path decoder;  // small decoder of all models; may be empty
  std::filesystem::path data;
  std::filesystem::path starts;  // folder of start pictures; may be empty
  std::string address = "127.0.0.1";
  uint16_t port = 8080;  // 0: any free port
  int threads = 2;       // network threads
  AccessOptions access;  // `loopback` is set from the address
  Limits limits;
};

class Server {
 public:
  // Loads the models and listens. An address or port that cannot be used is bad input, and so is an
  // address that other machines can reach without a token.
  explicit Server(ServerOptions options);
  ~Server();

  uint16_t port() const;
  // Finishes the current time slice, saves the memories to disk and closes all connections.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace loci::serve
