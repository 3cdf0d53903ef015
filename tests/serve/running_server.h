// SPDX-License-Identifier: Apache-2.0
// A test fixture with a server on a free loopback port, tiny models and its own data folder.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "loci/serve/net/server.h"

#include "tests/serve/test_client.h"

namespace loci::serve::testing {

class RunningServer : public ::testing::Test {
 protected:
  RunningServer();
  ~RunningServer() override;

  // Options with two models, "tiny" and "other", no lingering of walks and no rate limits.
  static ServerOptions options(const std::filesystem::path& folder);
  void start() { start(options(folder_)); }
  void start(ServerOptions options);
  void stop() { server_.reset(); }
  uint16_t port() const { return server_->port(); }

  // A walk whose messages up to `session` were read. `init` is merged into a default message with
  // unpaced frames.
  struct Begun {
    std::unique_ptr<WalkClient> client;
    Json session;
    std::string world() const { return session.at("world"); }
  };
  Begun begin(const Json& init = Json::object(), bool json = false) const {
    return begin_at(port(), init, json);
  }
  static Begun begin_at(uint16_t port, const Json& init = Json::object(), bool json = false);

  const std::filesystem::path folder_;
  std::unique_ptr<Server> server_;
};

// Messages of a client.
Json event(const std::string& kind, const Json& payload = {}, int64_t id = -1);
Json hold(const std::vector<std::string>& keys, int64_t id = -1);

}  // namespace loci::serve::testing
