// SPDX-License-Identifier: Apache-2.0
// Split view: a second view that joins a walk, and the statistics of retained frames.
#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/model/autoencoder/vae.h"
#include "loci/serve/protocol/message.h"

#include "tests/model/tiny_model.h"
#include "tests/sample/tiny_folder.h"
#include "tests/serve/running_server.h"

namespace loci::serve::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SplitView : public RunningServer {
 protected:
  SplitView() {
    model::TransformerConfig softmax = loci::testing::tiny_config();
    softmax.hybrid_layers.clear();
    softmax.recurrent_memory = "none";
    loci::testing::make_tiny_folder(folder_ / "softmax", 3, softmax);
    loci::testing::make_tiny_folder(folder_ / "alien", 4);
    model::Vae(loci::testing::tiny_vae_config(), {.seed = 5}).save(folder_ / "alien" / "vae");
    with_all_ = options(folder_);
    with_all_.models.push_back(folder_ / "softmax");
    with_all_.models.push_back(folder_ / "alien");
  }

  static Json quiet(const std::string& world = "") {
    Json init = {{"paused", true}, {"realtime_output_format", "raw"}, {"seed", 9}};
    if (!world.empty()) init["world"] = world;
    return init;
  }
  // The raw frames of the next chunk, by view.
  static std::map<int64_t, std::string> next_frames(WalkClient& client, int64_t views) {
    client.send(event("step"));
    std::map<int64_t, std::string> frames;
    for (int64_t v = 0; v < views; ++v) {
      Json batch;
      do {
        batch = client.until("frame_batch");
      } while (!batch.is_null() && batch["num_frames"] < 2);
      if (batch.is_null()) return frames;
      frames[batch["view"]] = bytes_of(batch["payload"], "payload");
    }
    client.until_chunk(views - 1);
    return frames;
  }
  static Json split(WalkClient& client, const Json& second) {
    client.send({{"type", "split"}, {"second", second}, {"request_id", 7}});
    return client.until("session");
  }
  static std::string refused(WalkClient& client, const Json& second) {
    client.send({{"type", "split"}, {"second", second}, {"request_id", 7}});
    const Json error = client.until("error");
    EXPECT_EQ(error["request_id"], 7);
    return error["message"];
  }

  ServerOptions with_all_;
};

TEST_F(SplitView, AddsAViewThatKnowsThePastOfTheWalk) {
  start(with_all_);
  Begun walk = begin(quiet());
  walk.client->send(hold({"w", "left"}));
  for (int i = 0; i < 3; ++i) next_frames(*walk.client, 1);
  walk.client->send({{"type", "fork"}});
  const std::string alone = walk.client->until("forked")["world"]["id"];
  const Json session = split(*walk.client, {{"model", "softmax"}, {"history", "dense"}});
  EXPECT_EQ(session["world"], walk.world());
  EXPECT_EQ(session["next_chunk"], 4);
  ASSERT_EQ(session["views"].size(), 2U);
  EXPECT_EQ(session["views"][1]["model"], "softmax");
  EXPECT_EQ(session["views"][1]["recurrent"], false);
  Json stats = walk.client->until("chunk_stats");
  while (stats["view"] != 1) stats = walk.client->until("chunk_stats");
  EXPECT_EQ(stats["retained_total"], 7);  // latent frames of the first view

  walk.client->send({{"type", "save"}});
  const std::string saved = walk.client->until("saved")["world"]["id"];
  const auto expected = next_frames(*walk.client, 2);
  EXPECT_NE(expected.at(0), expected.at(1));
  // The first view is not affected.
  Begun twin = begin(quiet(alone));
  twin.client->send(hold({"w", "left"}));
  EXPECT_EQ(next_frames(*twin.client, 1).at(0), expected.at(0));
  // From snapshots and from the records alone, the second view generates the same chunk again.
  const auto again = [&] {
    Begun copy = begin(quiet(saved));
    EXPECT_EQ(copy.session["views"].size(), 2U);
    copy.client->send(hold({"w", "left"}));
    EXPECT_EQ(next_frames(*copy.client, 2), expected);
  };
  again();
  walk.client.reset();
  stop();
  for (const char* name : {"memory.0.safetensors", "memory.1.safetensors"}) {
    EXPECT_TRUE(fs::remove(folder_ / "data/worlds" / saved / name));
  }
  start(with_all_);
  again();
  EXPECT_EQ(http(port(), "GET", "/v1/worlds/" + saved).json()["views"][1]["history"], "dense");
  EXPECT_EQ(http(port(), "GET", "/v1/worlds/" + saved + "/thumbnails/1/3").status, 200);
}

TEST_F(SplitView, RemovesAndReplacesTheSecondView) {
  start(with_all_);
  Begun walk = begin(quiet());
  next_frames(*walk.client, 1);
  split(*walk.client, {{"history", "dense"}});
  next_frames(*walk.client, 2);
  const Json one = split(*walk.client, nullptr);
  EXPECT_EQ(one["world"], walk.world());
  EXPECT_EQ(one["views"].size(), 1U);
  next_frames(*walk.client, 1);
  // Another second view; the chunks of the previous one are not part of its past.
  const Json two = split(*walk.client, {{"model", "other"}, {"history", "window"}});
  EXPECT_EQ(two["views"][1]["model"], "other");
  EXPECT_EQ(two["next_chunk"], 4);
  // One message replaces the second view.
  const Json three = split(*walk.client, {{"model", "softmax"}});
  ASSERT_EQ(three["views"].size(), 2U);
  EXPECT_EQ(three["views"][1]["model"], "softmax");
  const auto expected = next_frames(*walk.client, 2);
  walk.client->send({{"type", "record"}, {"action", "start"}, {"view", -1}});
  walk.client->until("recording");
  EXPECT_THAT(refused(*walk.client, nullptr), HasSubstr("recording"));
  next_frames(*walk.client, 2);
  walk.client->send({{"type", "record"}, {"action", "stop"}});
  walk.client->until("recording");
  walk.client.reset();
  stop();
  start(with_all_);
  Begun again = begin(quiet(walk.world()));
  EXPECT_EQ(again.session["views"].size(), 2U);
  EXPECT_EQ(again.session["next_chunk"], 6);
  EXPECT_EQ(next_frames(*again.client, 2).size(), 2U);
}

TEST_F(SplitView, RefusesModelsWithAnotherAutoencoder) {
  start(with_all_);
  Begun walk = begin(quiet());
  EXPECT_THAT(refused(*walk.client, {{"model", "alien"}}), HasSubstr("another autoencoder"));
  EXPECT_THAT(refused(*walk.client, {{"model", "none"}}), HasSubstr("no such model"));
  EXPECT_THAT(refused(*walk.client, {{"history", "all"}}), HasSubstr("history"));
  EXPECT_THAT(refused(*walk.client, 7), HasSubstr("expected a map"));
  next_frames(*walk.client, 1);
  // With both models from the start, each has its own first latent frame.
  Json both = quiet();
  both["second"] = {{"model", "alien"}};
  EXPECT_EQ(begin(both).session["views"].size(), 2U);
}

TEST_F(SplitView, ListsRetainedFramesAndThinsLongLists) {
  start(with_all_);
  Json init = quiet();
  init["history"] = "dense";
  init["num_inference_steps"] = 1;
  init["second"] = {{"history", "window"}};
  Begun walk = begin(init);
  walk.client->send(hold({"right"}));
  walk.client->send(event("step", 70));
  std::vector<int64_t> before;
  for (int64_t chunk = 1; chunk <= 70; ++chunk) {
    const Json dense = walk.client->until_chunk(0), window = walk.client->until_chunk(1);
    const int64_t latents = 1 + 2 * chunk;
    ASSERT_EQ(dense["retained_total"], latents);
    ASSERT_EQ(window["retained_total"], std::min<int64_t>(29, latents));
    ASSERT_LE(dense["retained"].size(), 128U);
    std::vector<int64_t> frames;
    for (const Json& frame : dense["retained"]) {
      frames.push_back(frame["frame"]);
      const bool recent = frames.back() > latents - 9, first = frames.back() == 0;
      EXPECT_EQ(frame["kind"], first ? "sink" : recent ? "recent" : "bank");
    }
    EXPECT_EQ(frames.front(), 0);
    EXPECT_EQ(frames.back(), latents - 1);
    // Every listed frame was listed before or is new.
    const int64_t revisited =
        dense["revisited"].is_null() ? -1 : dense["revisited"]["frame"].get<int64_t>();
    for (const int64_t frame : frames) {
      if (frame < latents - 2 && frame != revisited) {
        EXPECT_THAT(before, ::testing::Contains(frame));
      }
    }
    before = frames;
    if (chunk < 70) continue;
    // Half a second per chunk at 30 degrees per second: nearly three full turns.
    EXPECT_LT(frames.size(), 100U);
    EXPECT_FALSE(dense["revisited"].is_null());
    EXPECT_GT(dense["panorama"]["share"].get<double>(), window["panorama"]["share"].get<double>());
    // The frames of both lists have the camera's position.
    for (const Json& stats : {dense, window}) {
      const Json& newest = stats["retained"].back();
      for (size_t i = 0; i < 7; ++i) {
        EXPECT_NEAR(newest["pose"][i].get<double>(), stats["poses"][1][i].get<double>(), 1e-9);
      }
    }
  }
  walk.client.reset();
  Begun again = begin(quiet(walk.world()));
  const Json thumbnails = again.client->until("thumbnails");
  EXPECT_EQ(thumbnails["frames"].size(), before.size());
}

}  // namespace
}  // namespace loci::serve::testing
