// SPDX-License-Identifier: Apache-2.0
// Worlds on disk: restarts, saved and forked worlds, two servers on one folder.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/model/autoencoder/vae.h"
#include "loci/serve/protocol/message.h"

#include "tests/base/damage.h"
#include "tests/model/tiny_decoder_file.h"
#include "tests/sample/tiny_folder.h"
#include "tests/serve/running_server.h"

namespace loci::serve::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Worlds : public RunningServer {
 protected:
  // The raw frames of the next chunk.
  static std::string next_frames(WalkClient& client) {
    client.send(event("step"));
    std::string frames;
    int64_t chunk = -1;
    while (true) {
      const std::optional<Json> message = client.next();
      if (!message) {
        ADD_FAILURE() << "the walk ended";
        return "";
      }
      if ((*message)["type"] == "frame_batch" && (*message)["num_frames"] > 1) {
        frames = bytes_of((*message)["payload"], "payload");
        chunk = (*message)["chunk_index"];
      }
      if ((*message)["type"] == "chunk_stats" && (*message)["chunk_index"] == chunk) return frames;
    }
  }
  static Json quiet() { return {{"paused", true}, {"realtime_output_format", "raw"}, {"seed", 9}}; }
  static Json quiet(const std::string& world) {
    Json init = quiet();
    init["world"] = world;
    return init;
  }
  Json listed(const std::string& id) const {
    return http(port(), "GET", "/v1/worlds/" + id).json();
  }
  // The walk that was just left may still hold the world's lock.
  Begun begin_soon(uint16_t port, const Json& init) const {
    for (int attempt = 0; attempt < 200; ++attempt) {
      WalkClient probe(port);
      Json message = {{"type", "init"}, {"pacing", "none"}};
      message.update(init);
      probe.send(message);
      while (const std::optional<Json> answer = probe.next()) {
        if ((*answer)["type"] == "session") {
          probe.socket().close();
          return begin_at(port, init);
        }
        if ((*answer)["type"] == "error") {
          EXPECT_EQ((*answer)["code"], "busy") << answer->dump();
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ADD_FAILURE() << "the world stays busy";
    return {};
  }
};

TEST_F(Worlds, ContinueBitIdenticallyAfterARestart) {
  start();
  Begun walk = begin(quiet());
  walk.client->send(hold({"w", "left"}));
  for (int i = 0; i < 3; ++i) next_frames(*walk.client);
  walk.client->send({{"type", "fork"}, {"name", "twin"}, {"request_id", 1}});
  const Json fork = walk.client->until("forked");
  EXPECT_EQ(fork["switched"], false);
  EXPECT_EQ(fork["world"]["parent"], walk.world());
  EXPECT_EQ(fork["world"]["chunks"], 4);
  const std::string expected = next_frames(*walk.client);
  stop();
  EXPECT_FALSE(walk.client->next());
  EXPECT_EQ(walk.client->close_code(), 1001);

  start();
  // The walk continues after its fourth chunk; the other world generates the same fourth chunk.
  Begun again = begin(quiet(walk.world()));
  EXPECT_EQ(again.session["resumed"], true);
  EXPECT_EQ(again.session["next_chunk"], 5);
  EXPECT_EQ(again.session["path"].size(), 9U);
  Begun twin = begin(quiet(fork["world"]["id"]));
  EXPECT_EQ(twin.session["name"], "twin");
  twin.client->send(hold({"w", "left"}));
  EXPECT_EQ(next_frames(*twin.client), expected);
  EXPECT_NE(next_frames(*twin.client), expected);
}

TEST_F(Worlds, ContinueWithAnotherDecoder) {
  ServerOptions small = options(folder_);
  small.decoder = folder_ / "taew2_2.safetensors";
  loci::testing::write_tiny_decoder(small.decoder, 3, 1);
  start();
  Begun walk = begin(quiet());
  for (int i = 0; i < 2; ++i) next_frames(*walk.client);
  walk.client->send({{"type", "fork"}, {"name", "twin"}, {"request_id", 1}});
  const Json fork = walk.client->until("forked");
  const std::string expected = next_frames(*walk.client);
  stop();
  // The snapshot belongs to the autoencoder's own decoder, so the memory is rebuilt from the
  // chunks.
  start(small);
  Begun again = begin(quiet(walk.world()));
  EXPECT_EQ(again.session["next_chunk"], 4);
  Begun twin = begin(quiet(fork["world"]["id"]));
  const std::string frames = next_frames(*twin.client);
  EXPECT_EQ(frames.size(), expected.size());
  EXPECT_NE(frames, expected);
}

// A published folder of another system, whose first chunk is generated together with the start
// picture: two latents, then three.
TEST_F(Worlds, OfAnotherSystemContinueAfterARestart) {
  fs::remove_all(folder_ / "tiny");
  fs::create_directories(folder_ / "tiny/vae");
  fs::copy(fs::path(LOCI_TEST_DATA) / "model/solarwm/model.pt", folder_ / "tiny/model.pt");
  model::Vae(loci::testing::tiny_vae_config()).save(folder_ / "tiny/vae");
  write_file(folder_ / "tiny/generation.json", R"({"width": 48, "height": 32, "steps": 2})");
  start();
  Begun walk = begin(quiet());
  EXPECT_EQ(walk.session["chunk_latents"], 3);
  walk.client->send(hold({"w", "left"}));
  constexpr size_t kFrame = 48 * 32 * 3;
  EXPECT_EQ(next_frames(*walk.client).size(), 8 * kFrame);
  EXPECT_EQ(next_frames(*walk.client).size(), 12 * kFrame);
  walk.client->send({{"type", "fork"}, {"name", "twin"}, {"request_id", 1}});
  const Json fork = walk.client->until("forked");
  const std::string expected = next_frames(*walk.client);
  stop();
  start();
  Begun again = begin(quiet(walk.world()));
  EXPECT_EQ(again.session["next_chunk"], 4);
  EXPECT_EQ(again.session["path"].size(), 9U);
  Begun twin = begin(quiet(fork["world"]["id"]));
  twin.client->send(hold({"w", "left"}));
  EXPECT_EQ(next_frames(*twin.client), expected);
}

TEST_F(Worlds, AreNotAffectedByChangedWeightFiles) {
  // The second chunk of a walk, generated after the weight files have changed.
  const auto second_chunk = [&](const auto& change) {
    stop();
    fs::remove_all(folder_ / "tiny");
    loci::testing::make_tiny_folder(folder_ / "tiny", 1);
    start();
    Begun walk = begin(quiet());
    next_frames(*walk.client);
    loci::testing::change_weights(folder_ / "tiny", change);
    return next_frames(*walk.client);
  };
  const std::string undisturbed = second_chunk([](const fs::path&) {});
  EXPECT_EQ(second_chunk(loci::testing::overwrite_in_place), undisturbed);
  EXPECT_EQ(second_chunk(loci::testing::truncate_to_nothing), undisturbed);
}

TEST_F(Worlds, KeepEveryChunkWhenTheServerIsKilled) {
  // The server runs in its own process, which is killed during a walk. No snapshot is written
  // before the kill, so the world is rebuilt from chunk records alone.
  int answer[2];
  ASSERT_EQ(::pipe(answer), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      const Server server(options(folder_));
      const uint16_t port = server.port();
      const ssize_t written = ::write(answer[1], &port, sizeof(port));
      if (written == sizeof(port)) ::pause();
    } catch (...) {
    }
    ::_exit(1);
  }
  ::close(answer[1]);
  uint16_t port = 0;
  ASSERT_EQ(::read(answer[0], &port, sizeof(port)), static_cast<ssize_t>(sizeof(port)));
  Json init = quiet();
  init["paused"] = false;
  init["max_chunks"] = 0;
  Begun walk = begin_at(port, init);
  walk.client->send(hold({"d"}));
  int64_t newest = 0;
  for (int i = 0; i < 7; ++i) newest = walk.client->until("frame_batch").value("chunk_index", 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  while (const std::optional<Json> message = walk.client->next()) {
    if ((*message)["type"] == "frame_batch") newest = (*message)["chunk_index"];
  }
  ::close(answer[0]);

  start();
  const std::string world = walk.world();
  EXPECT_FALSE(fs::exists(folder_ / "data/worlds" / world / "memory.0.safetensors"));
  Begun again = begin(quiet(world));
  // Every chunk of which the client received a frame is on disk.
  EXPECT_GT(again.session["next_chunk"].get<int64_t>(), newest);
  const int64_t chunks = again.session["next_chunk"];
  EXPECT_EQ(again.session["latents"], 1 + (chunks - 1) * 2);
  // The next chunk is the same from records alone and from a snapshot.
  again.client->send({{"type", "save"}, {"name", "after"}});
  const Json saved = again.client->until("saved")["world"];
  EXPECT_TRUE(fs::exists(folder_ / "data/worlds" / saved["id"].get<std::string>() /
                         "memory.0.safetensors"));
  const std::string expected = next_frames(*again.client);
  Begun copy = begin(quiet(saved["id"]));
  EXPECT_EQ(next_frames(*copy.client), expected);
}

TEST_F(Worlds, AreSavedLoadedForkedListedAndDeleted) {
  start();
  Begun walk = begin(quiet());
  next_frames(*walk.client);
  walk.client->send({{"type", "save"}, {"name", "here\nand now"}, {"request_id", "a"}});
  const Json saved = walk.client->until("saved");
  EXPECT_EQ(saved["request_id"], "a");
  EXPECT_EQ(saved["world"]["kind"], "saved");
  EXPECT_EQ(saved["world"]["name"], "here and now");
  const std::string id = saved["world"]["id"];
  const std::string expected = next_frames(*walk.client);
  EXPECT_EQ(listed(id)["chunks"], 2);
  EXPECT_EQ(listed(walk.world())["chunks"], 3);
  EXPECT_EQ(listed(walk.world())["open"], true);

  // Loading a saved world continues in a copy; the saved world does not change.
  walk.client->send({{"type", "load"}, {"world", id}});
  const Json session = walk.client->until("session");
  EXPECT_NE(session["world"], id);
  EXPECT_EQ(session["next_chunk"], 2);
  EXPECT_EQ(next_frames(*walk.client), expected);
  EXPECT_EQ(listed(id)["chunks"], 2);
  EXPECT_EQ(listed(session["world"])["chunks"], 3);

  walk.client->send({{"type", "fork"}, {"switch", true}});
  const Json fork = walk.client->until("forked");
  next_frames(*walk.client);
  EXPECT_EQ(listed(fork["world"]["id"])["chunks"], 4);
  EXPECT_EQ(listed(session["world"])["chunks"], 3);

  walk.client->send({{"type", "list_worlds"}});
  EXPECT_EQ(walk.client->until("worlds")["worlds"].size(), 4U);
  walk.client->send({{"type", "delete_world"}, {"world", fork["world"]["id"]}});
  EXPECT_EQ(walk.client->until("error")["code"], "busy");
  walk.client->send({{"type", "delete_world"}, {"world", id}});
  EXPECT_EQ(walk.client->until("worlds")["worlds"].size(), 3U);
  walk.client->send({{"type", "load"}, {"world", id}});
  EXPECT_EQ(walk.client->until("error")["code"], "not_found");
  next_frames(*walk.client);

  const std::string now = fork["world"]["id"];
  const Answer renamed = http(port(), "POST", "/v1/worlds/" + now,
                              {{"Content-Type", "application/json"}}, R"({"name": "mine"})");
  EXPECT_EQ(renamed.json()["name"], "mine");
  EXPECT_EQ(http(port(), "GET", "/v1/worlds/" + now + "/picture").headers.at("content-type"),
            "image/jpeg");
  EXPECT_EQ(http(port(), "GET", "/v1/worlds/" + now + "/thumbnails/0/3").status, 200);
  EXPECT_EQ(http(port(), "GET", "/v1/worlds/" + now + "/thumbnails/1/0").status, 404);
  EXPECT_EQ(http(port(), "GET", "/v1/worlds/" + now + "/thumbnails/0/999").status, 404);
  EXPECT_EQ(http(port(), "DELETE", "/v1/worlds/" + now).status, 409);
}

TEST_F(Worlds, AreTakenOverByANewConnection) {
  ServerOptions lingering = options(folder_);
  lingering.limits.linger_seconds = 60;
  start(lingering);
  Begun first = begin(quiet());
  next_frames(*first.client);
  Begun second = begin(quiet(first.world()));
  EXPECT_EQ(second.world(), first.world());
  EXPECT_EQ(second.session["next_chunk"], 2);
  while (first.client->next()) {
  }
  EXPECT_EQ(first.client->close_code(), 4001);
  next_frames(*second.client);
  // The walk is left and found again in memory.
  second.client.reset();
  Begun third = begin(quiet(first.world()));
  EXPECT_EQ(third.session["next_chunk"], 3);
}

TEST_F(Worlds, MoveBetweenServersThatShareAFolder) {
  start();
  const Server other(options(folder_));
  Begun walk = begin(quiet());
  walk.client->send(hold({"w"}));
  next_frames(*walk.client);
  // The first server holds the lock during its walk.
  WalkClient early(other.port());
  early.send({{"type", "init"}, {"world", walk.world()}});
  EXPECT_EQ(early.until("error")["code"], "busy");
  EXPECT_EQ(http(other.port(), "GET", "/v1/worlds/" + walk.world()).json()["open"], false);
  walk.client->send({{"type", "save"}});
  const std::string saved = walk.client->until("saved")["world"]["id"];
  const std::string expected = next_frames(*walk.client);
  walk.client.reset();
  // A saved world can be opened at once, the live one as soon as its walk is left.
  Begun copy = begin_at(other.port(), quiet(saved));
  copy.client->send(hold({"w"}));
  EXPECT_EQ(next_frames(*copy.client), expected);
  Begun moved = begin_soon(other.port(), quiet(walk.world()));
  EXPECT_EQ(moved.session["next_chunk"], 3);
  EXPECT_THAT(http(port(), "GET", "/v1/worlds").body, HasSubstr(copy.world()));
}

TEST_F(Worlds, WithSymbolicLinksToThemselvesAreNoServerErrors) {
  start();
  const Begun walk = begin(quiet());
  const std::string id = walk.world();
  walk.client->socket().close();
  stop();
  const fs::path data = folder_ / "data";
  const auto loop = [](const fs::path& path) {
    fs::remove_all(path);
    fs::create_symlink(path.filename(), path);
  };
  // The id of an entry with its letters exchanged is another valid id.
  const auto other_id = [&](const std::string& kind, char letter) {
    return kind + "_" + std::string(26, letter);
  };
  loop(data / "worlds" / other_id("world", 'a'));
  loop(data / "videos" / other_id("video", 'a'));
  fs::create_directories(data / "videos" / other_id("video", 'b'));
  loop(data / "videos" / other_id("video", 'b') / "video.json");
  for (const char letter : {'c', 'd', 'e', 'f'}) {
    fs::copy(data / "worlds" / id, data / "worlds" / other_id("world", letter),
             fs::copy_options::recursive);
  }
  loop(data / "worlds" / other_id("world", 'c') / "world.json");
  loop(data / "worlds" / other_id("world", 'd') / "chunks/0000000.safetensors");
  loop(data / "worlds" / other_id("world", 'e') / "memory.0.safetensors");
  loop(data / "worlds" / other_id("world", 'f') / "lock");
  start();
  std::vector<std::string> targets = {"/v1/worlds", "/v1/videos", "/metrics"};
  for (const char letter : {'a', 'b'}) {
    const std::string video = "/v1/videos/" + other_id("video", letter);
    for (const char* more : {"", "/content", "/content?variant=thumbnail"}) {
      targets.push_back(video + more);
    }
  }
  for (const char letter : {'a', 'c', 'd', 'e', 'f'}) {
    const std::string world = "/v1/worlds/" + other_id("world", letter);
    for (const char* more : {"", "/picture", "/thumbnails/0/0"}) targets.push_back(world + more);
  }
  for (const std::string& target : targets) {
    const Answer answer = http(port(), "GET", target);
    EXPECT_LT(answer.status, 500) << target << ": " << answer.body;
  }
  for (const char letter : {'a', 'c', 'd', 'f'}) {
    WalkClient client(port());
    client.send({{"type", "init"}, {"world", other_id("world", letter)}});
    const Json error = client.until("error");
    EXPECT_NE(error["code"], "internal") << letter << error.dump();
  }
  // A snapshot only saves time.
  EXPECT_EQ(begin(quiet(other_id("world", 'e'))).session["next_chunk"], walk.session["next_chunk"]);
  EXPECT_EQ(begin(quiet(id)).world(), id);
}

// The time to replay the chunks since the newest snapshot is bounded.
TEST_F(Worlds, AreSnapshotMoreOftenIfChunksAreSlow) {
  const auto snapshots_of = [&](double replay_seconds) {
    ServerOptions slow = options(folder_);
    slow.limits.replay_seconds = replay_seconds;
    start(slow);
    Begun walk = begin({{"max_chunks", 5}});
    for (int i = 0; i < 5; ++i) walk.client->until_chunk();
    const std::string metrics = http(port(), "GET", "/metrics").body;
    const std::string name = "\nloci_snapshots_total ";
    return std::stoi(metrics.substr(metrics.find(name) + name.size()));
  };
  EXPECT_EQ(snapshots_of(1e6), 0);
  // Every chunk takes longer than this. The statistics of a chunk are sent before its snapshot.
  EXPECT_GE(snapshots_of(1e-9), 4);
}

TEST_F(Worlds, AreRefusedIfDamagedOrOfAnotherModel) {
  start();
  Begun walk = begin(quiet());
  next_frames(*walk.client);
  const fs::path world = folder_ / "data/worlds" / walk.world();
  walk.client.reset();
  stop();
  const auto refused = [&] {
    start();
    WalkClient client(port());
    client.send({{"type", "init"}, {"world", walk.world()}});
    const Json error = client.until("error");
    EXPECT_EQ(error["code"], "bad_world");
    // The message reveals no paths.
    EXPECT_EQ(error["message"].get<std::string>().find('/'), std::string::npos);
    stop();
  };
  const fs::path facts = world / "world.json", kept = world / "kept.json";
  fs::copy_file(facts, kept);
  std::ofstream(facts, std::ios::trunc) << "{";
  refused();
  fs::copy_file(kept, facts, fs::copy_options::overwrite_existing);
  const fs::path chunk = world / "chunks/0000001.safetensors";
  fs::resize_file(chunk, 100);
  refused();
  fs::remove(chunk);
  // A snapshot that is newer than the records is ignored.
  start();
  EXPECT_EQ(begin(quiet(walk.world())).session["next_chunk"], 1);
  stop();
  fs::remove_all(folder_ / "tiny");
  fs::copy(folder_ / "other", folder_ / "tiny", fs::copy_options::recursive);
  refused();
}

}  // namespace
}  // namespace loci::serve::testing
