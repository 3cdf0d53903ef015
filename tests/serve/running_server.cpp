// SPDX-License-Identifier: Apache-2.0
#include "tests/serve/running_server.h"

#include <unistd.h>

#include "tests/sample/tiny_folder.h"

namespace loci::serve::testing {

namespace fs = std::filesystem;

RunningServer::RunningServer()
    : folder_(fs::path(::testing::TempDir()) / ("loci_serve_test_" + std::to_string(::getpid()))) {
  fs::remove_all(folder_);
  fs::create_directories(folder_);
  loci::testing::make_tiny_folder(folder_ / "tiny", 1);
  loci::testing::make_tiny_folder(folder_ / "other", 2);
}

RunningServer::~RunningServer() {
  server_.reset();
  fs::remove_all(folder_);
}

ServerOptions RunningServer::options(const fs::path& folder) {
  ServerOptions options;
  options.models = {folder / "tiny", folder / "other"};
  options.data = folder / "data";
  options.port = 0;
  options.threads = 1;
  options.limits.linger_seconds = 0;
  options.limits.requests_per_second = 1e6;
  options.limits.messages_per_second = 1e6;
  return options;
}

void RunningServer::start(ServerOptions options) {
  server_.reset();
  server_ = std::make_unique<Server>(std::move(options));
}

RunningServer::Begun RunningServer::begin_at(uint16_t port, const Json& init, bool json) {
  Begun begun;
  begun.client = std::make_unique<WalkClient>(port, json);
  EXPECT_EQ(begun.client->status(), 101);
  Json message = {{"type", "init"}, {"pacing", "none"}, {"max_chunks", 2}};
  message.update(init);
  begun.client->send(message);
  begun.session = begun.client->until("session");
  return begun;
}

Json event(const std::string& kind, const Json& payload, int64_t id) {
  Json message = {{"type", "event"}, {"kind", kind}};
  if (!payload.is_null()) message["payload"] = payload;
  if (id >= 0) message["event_id"] = id;
  return message;
}

Json hold(const std::vector<std::string>& keys, int64_t id) {
  return event("camera_actions",
               {{"mode", "state"}, {"transitions", {{{"actions", keys}, {"client_ts_ms", 0}}}}},
               id);
}

}  // namespace loci::serve::testing
