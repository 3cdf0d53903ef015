// SPDX-License-Identifier: Apache-2.0
// Clients that ask for too much, send garbage, or do not read.
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/machine.h"

#include "tests/serve/running_server.h"

namespace loci::serve::testing {
namespace {

using ::testing::HasSubstr;

class LimitsOverTheNetwork : public RunningServer {
 protected:
  double metric(const std::string& name) const {
    const std::string text = http(port(), "GET", "/metrics").body;
    const size_t at = text.find("\n" + name + " ");
    EXPECT_NE(at, text.npos) << name;
    return std::stod(text.substr(at + name.size() + 2));
  }
};

TEST_F(LimitsOverTheNetwork, RefusesLargeBodiesMessagesAndHeaders) {
  ServerOptions tight = options(folder_);
  tight.limits.body_bytes = 1000;
  tight.limits.message_bytes = 1000;
  start(tight);
  const Headers json = {{"Content-Type", "application/json"}};
  EXPECT_EQ(http(port(), "POST", "/v1/videos", json, std::string(2000, ' ')).status, 413);
  EXPECT_EQ(http(port(), "GET", "/health", {{"X-Long", std::string(20000, 'x')}}).status, 431);
  EXPECT_EQ(http(port(), "GET", "/" + std::string(20000, 'x')).status, 431);
  WalkClient client(port());
  client.send({{"type", "init"}, {"prompt", std::string(2000, 'x')}});
  while (client.next()) {
  }
  EXPECT_EQ(client.close_code(), 1009);
  // An announced length that is too large.
  Socket liar(port());
  liar.send(
      "POST /v1/videos HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999\r\n\r\n");
  EXPECT_THAT(liar.receive().value_or(""), HasSubstr("413"));
}

TEST_F(LimitsOverTheNetwork, SurvivesGarbage) {
  start();
  for (const std::string& bytes :
       {std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), std::string("GET\r\n\r\n"),
        std::string("GET / HTTP/9.9\r\n\r\n"), std::string(100, '\0'), std::string("\r\n\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nA B\r\n\r\n"),
        std::string("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")}) {
    Socket socket(port());
    socket.send(bytes);
    const std::string answer = socket.receive(5).value_or("");
    EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 4")) << answer;
  }
  for (const int opcode : {0, 1, 2, 3, 8, 9, 11}) {
    for (const bool masked : {true, false}) {
      WalkClient client(port());
      client.send_frame(opcode, "\xff\xfe\xc1", masked);
      while (const auto message = client.next(1)) {
        EXPECT_EQ((*message)["type"], "error");
      }
    }
  }
  WalkClient deep(port());
  deep.send_frame(2, std::string(100000, '\x91'));
  EXPECT_EQ(deep.until("error")["code"], "bad_message");
  WalkClient deep_text(port());
  deep_text.send_frame(1, std::string(100000, '['));
  EXPECT_EQ(deep_text.until("error")["code"], "bad_message");
  // Paths outside of the page, and unknown methods.
  for (const char* target : {"/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
                             "/v1/videos/..%2f..%2fx/content", "/v1/worlds/%2e%2e/picture",
                             "/v1/starts/..%2f..%2fetc%2fpasswd/picture"}) {
    EXPECT_EQ(http(port(), "GET", target).status, 404) << target;
  }
  EXPECT_EQ(http(port(), "BREW", "/v1/models").status, 405);
  EXPECT_EQ(http(port(), "GET", "/health").status, 200);
  EXPECT_EQ(metric("loci_errors_total"), 0);
}

TEST_F(LimitsOverTheNetwork, DisconnectsSlowAndSilentPeers) {
  ServerOptions hasty = options(folder_);
  hasty.limits.header_seconds = 0.5;
  hasty.limits.body_seconds = 0.5;
  hasty.limits.idle_seconds = 0.5;
  hasty.limits.init_seconds = 0.5;
  start(hasty);
  const auto cut = [](Socket& socket, const std::string& drip) {
    for (int i = 0; i < 100; ++i) {
      if (!socket.send(drip)) return true;
      const auto answer = socket.receive(0.1);
      if (answer && answer->empty()) return true;
    }
    return false;
  };
  Socket header(port());
  header.send("GET / HTTP/1.1\r\n");
  EXPECT_TRUE(cut(header, "X: y\r\n"));
  Socket body(port());
  body.send("POST /v1/videos HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n");
  EXPECT_TRUE(cut(body, "x"));
  Socket silent(port());
  EXPECT_EQ(silent.receive(10), "");
  WalkClient waiting(port());
  EXPECT_EQ(waiting.status(), 101);
  EXPECT_FALSE(waiting.next(10));
  EXPECT_EQ(waiting.close_code(), 1008);
  // An idle connection is closed, too.
  Socket kept(port());
  kept.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(kept.receive().value_or(""), HasSubstr("200 OK"));
  EXPECT_EQ(kept.receive(10), "");
  EXPECT_GE(metric("loci_connections_cut_total"), 4);
}

TEST_F(LimitsOverTheNetwork, DisconnectsHalfOpenWalks) {
  ServerOptions hasty = options(folder_);
  hasty.limits.ping_seconds = 1;
  start(hasty);
  Begun walk = begin({{"paused", true}});
  EXPECT_EQ(metric("loci_sessions_active"), 1);
  // From here on the client neither reads nor answers, not even pings.
  for (int i = 0; i < 300 && metric("loci_sessions_active") > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(metric("loci_sessions_active"), 0);
}

TEST_F(LimitsOverTheNetwork, LimitsWalksConnectionsAndRates) {
  ServerOptions small = options(folder_);
  small.limits.sessions = 2;
  small.limits.connections_per_address = 5;
  small.limits.messages_per_second = 20;
  start(small);
  Begun one = begin({{"paused", true}});
  {
    const Begun two = begin({{"paused", true}});
    WalkClient three(port());
    three.send({{"type", "init"}});
    EXPECT_EQ(three.until("error")["code"], "limit");
  }
  // A new walk is possible once another has left.
  for (int i = 0; i < 200; ++i) {
    WalkClient next(port());
    next.send({{"type", "init"}, {"paused", true}});
    const Json first = next.next().value_or(Json::object());
    if (first.value("type", "") == "state") break;
    EXPECT_EQ(first.value("code", ""), "limit");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_LT(i, 199);
  }
  {
    std::vector<std::unique_ptr<Socket>> sockets;
    for (int i = 0; i < 10; ++i) sockets.push_back(std::make_unique<Socket>(port()));
    int refused = 0;
    for (const auto& socket : sockets) {
      const std::string answer = socket->receive(0.2).value_or("");
      if (answer.empty()) continue;
      ++refused;
      EXPECT_THAT(answer, HasSubstr("503 Service Unavailable"));
      const size_t body = answer.find("\r\n\r\n") + 4;
      EXPECT_THAT(answer, HasSubstr(fmt::format("Content-Length: {}", answer.size() - body)));
    }
    EXPECT_GE(refused, 5);
  }
  for (int i = 0; i < 200; ++i) one.client->send({{"type", "ping"}});
  while (one.client->next()) {
  }
  EXPECT_EQ(one.client->close_code(), 1008);

  ServerOptions slow = options(folder_);
  slow.limits.requests_per_second = 2;
  start(slow);
  int limited = 0;
  for (int i = 0; i < 20; ++i) limited += http(port(), "GET", "/health").status == 429;
  EXPECT_GE(limited, 10);
}

TEST_F(LimitsOverTheNetwork, EndsTheOldestWalkWithoutAClientWhenOthersNeedItsPlace) {
  ServerOptions small = options(folder_);
  small.limits.sessions = 2;
  small.limits.linger_seconds = 3600;
  start(small);
  const auto is_open = [&](const std::string& world) {
    return http(port(), "GET", "/v1/worlds/" + world).json()["open"].get<bool>();
  };
  std::vector<std::string> worlds;
  const auto come_and_go = [&] {
    const Begun walk = begin({{"paused", true}});
    worlds.push_back(walk.world());
  };
  // A client that closes its connection is noticed soon, but not at once.
  const auto until_alone = [&] {
    for (int i = 0; i < 600 && metric("loci_sessions_active") > 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  };
  for (int i = 0; i < 4; ++i) {  // twice the number of sessions
    come_and_go();
    until_alone();
  }
  EXPECT_EQ(metric("loci_walks_in_memory"), 4);
  for (int i = 4; i < 8; ++i) {
    come_and_go();
    until_alone();
    for (int wait = 0; wait < 600 && metric("loci_walks_in_memory") > 4; ++wait) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(metric("loci_walks_in_memory"), 4);
    for (int walk = 0; walk <= i; ++walk) EXPECT_EQ(is_open(worlds[walk]), walk > i - 4) << i;
  }
  // A walk that was ended continues from its world, with its memory saved.
  EXPECT_TRUE(
      std::filesystem::exists(folder_ / "data/worlds" / worlds[0] / "memory.0.safetensors"));
  EXPECT_EQ(begin({{"world", worlds[0]}, {"paused", true}}).world(), worlds[0]);
}

TEST_F(LimitsOverTheNetwork, DropsFramesOfSlowReadersInsteadOfGrowing) {
  ServerOptions small = options(folder_);
  small.limits.outbox_frame_bytes = 100'000;
  small.limits.write_seconds = 600;
  small.limits.ping_seconds = 600;
  start(small);
  auto client = std::make_unique<WalkClient>(port());
  client->socket().shrink_receive_buffer();
  // Raw frames: more than half a megabyte per chunk.
  client->send({{"type", "init"},
                {"size", "192x128"},
                {"num_inference_steps", 1},
                {"pacing", "none"},
                {"realtime_output_format", "raw"},
                {"history_frames", 4}});
  for (int i = 0; i < 1200 && metric("loci_frames_dropped_total") < 24; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_GE(metric("loci_frames_dropped_total"), 24);
  // The client reads again and is told how many frames were dropped.
  int64_t lost = 0;
  while (lost == 0) lost = client->until("chunk_stats").value("dropped_frames", -1);
  EXPECT_GE(lost, 8);
}

TEST_F(LimitsOverTheNetwork, PausesWalksBeforeTheDiskIsFull) {
  ServerOptions small = options(folder_);
  small.limits.disk_bytes = 1'500'000;
  start(small);
  Begun walk = begin({{"max_chunks", 0}});
  const Json error = walk.client->until("error");
  EXPECT_EQ(error["code"], "storage");
  EXPECT_EQ(error["fatal"], false);
  EXPECT_EQ(walk.client->until("state")["reason"], "storage");
  EXPECT_EQ(http(port(), "POST", "/v1/videos", {{"Content-Type", "application/json"}}, "{}").status,
            507);
  // No generated chunk is lost.
  const int64_t chunks = http(port(), "GET", "/v1/worlds/" + walk.world()).json()["chunks"];
  EXPECT_GT(chunks, 1);
  walk.client.reset();
  stop();
  start();
  EXPECT_EQ(begin({{"world", walk.world()}, {"paused", true}}).session["next_chunk"], chunks);
}

TEST_F(LimitsOverTheNetwork, PausesWalksWithoutInput) {
  ServerOptions hasty = options(folder_);
  hasty.limits.pause_seconds = 0.3;
  start(hasty);
  Begun walk = begin({{"max_chunks", 0}});
  Json state = walk.client->until("state");
  while (!state.empty() && state["state"] != "paused") state = walk.client->until("state");
  EXPECT_EQ(state["reason"], "idle");
  walk.client->send(hold({"w"}));
  EXPECT_EQ(walk.client->until("state")["state"], "running");
  walk.client->until_chunk();
}

}  // namespace
}  // namespace loci::serve::testing
