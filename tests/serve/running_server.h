// SPDX-License-Identifier: Apache-2.0
// A server on a free port of loopback, with tiny models and a folder of its own.
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

  // With two models, "tiny" and "other", and limits that suit tests: no lingering, no rate.
  static ServerOptions options(const std::filesystem::path& folder);
  void start() { start(options(folder_)); }
  void start(ServerOptions options);
  void stop() { server_.reset(); }
  uint16_t port() const { return server_->port(); }

  // A walk that has begun: its first messages up to the first chunk_stats are read. `init` is
  // merged over a default with unpaced frames.
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

// Messages.
Json event(const std::string& kind, const Json& payload = {}, int64_t id = -1);
Json hold(const std::vector<std::string>& keys, int64_t id = -1);

}  // namespace loci::serve::testing
