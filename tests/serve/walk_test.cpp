// SPDX-License-Identifier: Apache-2.0
// Walks over the WebSocket, from init to the last frame.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/io/media/image.h"
#include "loci/serve/protocol/message.h"

#include "tests/sample/tiny_folder.h"
#include "tests/serve/running_server.h"

namespace loci::serve::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Walking : public RunningServer {};

std::string payload_of(const Json& batch) { return bytes_of(batch.at("payload"), "payload"); }

at::Tensor picture_of(const std::string& jpeg) {
  return io::decode_image(std::as_bytes(std::span(jpeg.data(), jpeg.size())), "a frame");
}

// Skips to the frames of a chunk.
Json until_frames(WalkClient& client, int64_t chunk) {
  while (true) {
    Json batch = client.until("frame_batch");
    if (batch.empty() || batch["chunk_index"] == chunk) return batch;
  }
}

TEST_F(Walking, SendsFramesThumbnailsAndStatisticsOfAChunk) {
  start();
  Begun walk = begin({{"start", "town-1"}, {"seed", 3}, {"paused", true}, {"prompt", "a town"}});
  const Json& session = walk.session;
  EXPECT_EQ(session["protocol"], 1);
  EXPECT_EQ(session["resumed"], false);
  EXPECT_EQ(session["next_chunk"], 1);
  EXPECT_EQ(session["size"], Json({48, 32}));
  EXPECT_EQ(session["chunk_latents"], 2);
  EXPECT_EQ(session["frames_per_latent"], 4);
  EXPECT_EQ(session["seed"], "3");
  EXPECT_EQ(session["prompt"], "a town");
  EXPECT_EQ(session["pose"], Json({0, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(session["views"].size(), 1U);
  EXPECT_EQ(session["views"][0]["history"], "sparse");
  EXPECT_EQ(session["views"][0]["recurrent"], true);
  // The first frame of the world.
  const Json still = until_frames(*walk.client, 0);
  EXPECT_EQ(still["num_frames"], 1);
  EXPECT_EQ(picture_of(payload_of(still)).sizes(), at::IntArrayRef({32, 48, 3}));

  walk.client->send(hold({"w"}, 11));
  EXPECT_EQ(walk.client->until("receipt")["status"], "received");
  walk.client->send(event("step", {}, 12));
  const Json applied = [&] {
    while (true) {
      Json receipt = walk.client->until("receipt");
      if (receipt.empty() || (receipt["event_id"] == 11 && receipt["status"] == "applied")) {
        return receipt;
      }
    }
  }();
  EXPECT_EQ(applied["chunk_index"], 1);
  const Json batch = until_frames(*walk.client, 1);
  EXPECT_EQ(batch["num_frames"], 8);
  EXPECT_EQ(batch["frame_index"], 1);
  EXPECT_EQ(batch["encoding"], "jpeg");
  EXPECT_EQ(batch["is_final_frame_batch"], true);
  size_t bytes = 0;
  for (const Json& length : batch["payload_lengths"]) bytes += length.get<size_t>();
  EXPECT_EQ(bytes, payload_of(batch).size());
  const Json thumbnails = walk.client->until("thumbnails");
  ASSERT_EQ(thumbnails["frames"].size(), 2U);
  EXPECT_EQ(thumbnails["frames"][0]["frame"], 1);
  EXPECT_EQ(picture_of(bytes_of(thumbnails["frames"][0]["jpeg"], "x")).size(1), 96);

  const Json stats = walk.client->until_chunk();
  EXPECT_EQ(stats["chunk_index"], 1);
  EXPECT_EQ(stats["first_latent"], 1);
  EXPECT_EQ(stats["num_frames"], 8);
  EXPECT_EQ(stats["ws_payload_bytes"], bytes);
  ASSERT_EQ(stats["poses"].size(), 2U);
  EXPECT_NEAR(stats["poses"][1][2].get<double>(), 0.5, 1e-9);  // forward for half a second
  for (const char* time : {"scheduler_forward_ms", "commit_ms", "encode_ms", "store_ms",
                           "chunk_total_ms", "control_latency_ms", "queue_ms"}) {
    EXPECT_GE(stats[time].get<double>(), 0) << time;
  }
  EXPECT_GT(stats["memory_bytes"].get<int64_t>(), 0);
  EXPECT_GT(stats["process_bytes"].get<int64_t>(), 0);
  ASSERT_EQ(stats["retained"].size(), 3U);
  EXPECT_EQ(stats["retained"][0]["kind"], "sink");
  EXPECT_EQ(stats["retained"][0]["seen"], true);
  EXPECT_EQ(stats["retained"][2]["kind"], "recent");
  EXPECT_EQ(stats["revisited"]["frame"], 0);  // half a metre ahead, the first frame overlaps most
  EXPECT_GT(stats["panorama"]["share"].get<double>(), 0.02);
  const std::string mask = bytes_of(stats["panorama"]["mask"], "mask");
  ASSERT_EQ(mask.size(), 512U);
  int seen = 0;
  for (const char c : mask) seen += __builtin_popcount(static_cast<unsigned char>(c));
  EXPECT_NEAR(seen / 4096.0, stats["panorama"]["share"].get<double>(), 1e-9);
  EXPECT_GT(stats["retention"].get<double>(), 0);
  EXPECT_LE(stats["retention"].get<double>(), 1);
  EXPECT_GT(stats["state_norm"].get<double>(), 0);
  EXPECT_EQ(stats["state_norms"].size(), 1U);
}

TEST_F(Walking, SupportsJsonRawFramesAndUploadedPictures) {
  start();
  at::manual_seed(1);
  const std::vector<std::byte> png = io::encode_png(at::randint(0, 256, {40, 60, 3}, at::kByte));
  const std::string bytes(reinterpret_cast<const char*>(png.data()), png.size());
  Begun walk = begin({{"first_frame", base64_encode(bytes)},
                      {"realtime_output_format", "raw"},
                      {"num_frames", 9},
                      {"realtime_causal_kv_cache_num_frames", 12},
                      {"max_chunks", 1},
                      {"condition_inputs", {{"camera_actions", {{"w"}, {"w"}, {"left"}}}}}},
                     true);
  EXPECT_EQ(walk.session["views"][0]["history_frames"], 12);
  const Json batch = until_frames(*walk.client, 1);
  EXPECT_EQ(batch["encoding"], "raw");
  EXPECT_EQ(payload_of(batch).size(), 8U * 48 * 32 * 3);
  const Json stats = walk.client->until_chunk();
  EXPECT_NEAR(stats["poses"][0][2].get<double>(), 2.0 / 16, 1e-9);
  EXPECT_LT(stats["poses"][1][5].get<double>(), 0);  // turned left
  const Json state = walk.client->until("state");
  EXPECT_EQ(state["state"], "paused");
  EXPECT_EQ(state["reason"], "max_chunks");
  walk.client->send({{"type", "ping"}, {"t", 7}});
  EXPECT_EQ(walk.client->until("pong")["t"], 7);
}

// A movement of the camera ends the tour, and the walk continues from that pose.
TEST_F(Walking, EndsATourWhenTheClientMoves) {
  start();
  // Two seconds are four chunks of eight frames.
  Begun walk = begin({{"start", "town-1"}, {"tour_seconds", 2}, {"paused", true}});
  walk.client->send(event("step", 2, 1));
  const Json first = walk.client->until_chunk();
  EXPECT_EQ(first["given"], true);
  EXPECT_EQ(first["chunk_index"], 1);
  const Json second = walk.client->until_chunk();
  EXPECT_EQ(second["given"], true);
  EXPECT_NE(second["poses"], first["poses"]);
  const Json place = second["poses"][1];
  walk.client->send(hold({"w"}, 2));
  walk.client->send(event("step", 1, 3));
  const Json own = walk.client->until_chunk();
  EXPECT_EQ(own["given"], false);
  double metres = 0;
  for (int axis = 0; axis < 3; ++axis) {
    metres += std::pow(own["poses"][1][axis].get<double>() - place[axis].get<double>(), 2);
  }
  EXPECT_NEAR(std::sqrt(metres), 0.5, 1e-6);  // half a second of motion
  // The world is read back with the shown part of the tour and continues without the rest.
  const Json memory = own["retained"];
  walk.client.reset();
  stop();
  start();
  Begun again = begin({{"world", walk.session["world"]}, {"paused", true}});
  EXPECT_EQ(again.session["next_chunk"], 4);
  again.client->send(event("step", 1, 4));
  const Json next = again.client->until_chunk();
  EXPECT_EQ(next["given"], false);
  EXPECT_GE(next["retained"].size(), memory.size());
}

TEST_F(Walking, GeneratesChunksAfterACompleteTour) {
  start();
  Begun walk = begin({{"start", {{"kind", "procedural"}, {"style", "forest"}, {"seed", 5}}},
                      {"tour_seconds", 1},
                      {"second", {{"history", "dense"}}},
                      {"max_chunks", 3}});
  const Json state = walk.client->until("state");
  EXPECT_EQ(state["reason"], "tour");
  EXPECT_EQ(state["progress"], 0);
  std::vector<bool> given;
  Json last;
  for (int64_t chunk = 1; chunk <= 3; ++chunk) {
    last = walk.client->until_chunk();
    given.push_back(last["given"]);
  }
  EXPECT_EQ(given, (std::vector<bool>{true, true, false}));
  EXPECT_EQ(last["poses"][0], last["poses"][1]);  // no controls are held
}

TEST_F(Walking, RefusesToursOfPictures) {
  start();
  const std::vector<std::byte> png = io::encode_png(at::zeros({32, 48, 3}, at::kByte));
  const std::string bytes(reinterpret_cast<const char*>(png.data()), png.size());
  for (const Json& init : {Json{{"first_frame", base64_encode(bytes)}, {"tour_seconds", 2}},
                           Json{{"start", "town-1"}, {"tour_seconds", 1000}}}) {
    WalkClient client(port(), /*json=*/true);
    Json message = init;
    message["type"] = "init";
    client.send(message);
    const Json error = client.until("error");
    EXPECT_EQ(error["code"], "bad_request");
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("tour_seconds"));
  }
}

TEST_F(Walking, AppliesTheSameControlsToBothViews) {
  start();
  Begun walk = begin({{"second", {{"model", "other"}, {"history", "dense"}}}, {"paused", true}});
  ASSERT_EQ(walk.session["views"].size(), 2U);
  EXPECT_EQ(walk.session["views"][1]["model"], "other");
  EXPECT_EQ(walk.session["views"][1]["frame_budget"], 0);
  walk.client->send(hold({"a", "left"}));
  walk.client->send(event("step", 2));
  const Json first = walk.client->until_chunk(0), second = walk.client->until_chunk(1);
  EXPECT_EQ(first["poses"], second["poses"]);
  EXPECT_NE(first["poses"][1], first["poses"][0]);
  // One view is reset; the other is not affected.
  walk.client->until_chunk(1);
  walk.client->send(event("reset_memory", {{"view", 1}}));
  walk.client->send(event("readout", {{"readout", "off"}, {"view", 1}}));
  walk.client->send(event("steps", {{"steps", 1}, {"view", 0}}));
  walk.client->send(event("pause"));
  const Json state = walk.client->until("state");
  EXPECT_EQ(state["views"][0]["readout"], "on");
  EXPECT_EQ(state["views"][1]["readout"], "off");
  EXPECT_EQ(state["views"][0]["steps"], 1);
  EXPECT_EQ(state["views"][1]["steps"], 2);
}

// The encoder's thread sends what the engine's thread produced, in the same order.
TEST_F(Walking, SendsTheMessagesOfEachChunkInOrder) {
  start();
  Begun walk = begin({{"second", {{"history", "dense"}}}, {"paused", true}, {"seed", 5}});
  constexpr int64_t kChunks = 6;
  walk.client->send(event("step", kChunks, 1));
  std::vector<std::string> order;
  std::map<int64_t, size_t> bytes;  // of the newest chunk, by view
  for (int64_t chunk = 1; chunk <= kChunks;) {
    const std::optional<Json> message = walk.client->next();
    ASSERT_TRUE(message);
    const std::string type = (*message)["type"];
    if (type != "frame_batch" && type != "thumbnails" && type != "chunk_stats") continue;
    if (message->value("chunk_index", chunk) == 0) continue;
    if (chunk == 1 && order.empty() && type != "frame_batch") continue;  // of the greeting
    const auto view = (*message)["view"].get<int64_t>();
    order.push_back(type + " " + std::to_string(view));
    if (type == "frame_batch") {
      EXPECT_EQ((*message)["chunk_index"], chunk);
      bytes[view] = payload_of(*message).size();
    } else if (type == "chunk_stats") {
      EXPECT_EQ((*message)["chunk_index"], chunk);
      EXPECT_EQ((*message)["ws_payload_bytes"], bytes[view]);
      EXPECT_EQ((*message)["dropped_frames"], 0);
      chunk += view;  // the second view is the last
    }
  }
  ASSERT_EQ(order.size(), 6U * kChunks);
  for (size_t i = 0; i < order.size(); i += 6) {
    EXPECT_THAT(std::vector(order.begin() + i, order.begin() + i + 6),
                ElementsAre("frame_batch 0", "frame_batch 1", "thumbnails 0", "chunk_stats 0",
                            "thumbnails 1", "chunk_stats 1"));
  }
}

TEST_F(Walking, RebuildsMemoryUnderANewHistoryPolicy) {
  start();
  Begun walk = begin({{"paused", true}, {"seed", 5}});
  walk.client->send(hold({"w"}));
  walk.client->send(event("step", 3));
  for (int i = 0; i < 3; ++i) walk.client->until_chunk();
  walk.client->send(event("history", {{"history", "window"}, {"history_frames", 4}}, 5));
  const Json replayed = [&] {
    while (true) {
      Json stats = walk.client->until("chunk_stats");
      if (stats.empty() || stats["replayed"] == true) return stats;
    }
  }();
  // Of seven latent frames, the window keeps four.
  EXPECT_EQ(replayed["retained"].size(), 4U);
  EXPECT_EQ(walk.client->until("state")["views"][0]["history"], "window");
  walk.client->send(event("prompt", "a desert"));
  walk.client->send(event("step", 1));
  EXPECT_EQ(walk.client->until_chunk()["chunk_index"], 4);
  // The world on disk continues with the same settings.
  const std::string world = walk.world();
  walk.client.reset();
  Begun again = begin({{"world", world}, {"paused", true}});
  EXPECT_EQ(again.session["views"][0]["history"], "window");
  EXPECT_EQ(again.session["prompt"], "a desert");
  EXPECT_EQ(again.session["next_chunk"], 5);
}

TEST_F(Walking, RefusesInvalidMessages) {
  start();
  const auto refused = [&](const Json& init) {
    WalkClient client(port());
    client.send(init);
    const Json error = client.until("error");
    EXPECT_EQ(error["fatal"], true) << error.dump();
    EXPECT_FALSE(client.next());
    return error.value("code", "") + ": " + error.value("message", "");
  };
  EXPECT_THAT(refused({{"type", "event"}}), HasSubstr("init"));
  EXPECT_THAT(refused({{"no", "type"}}), HasSubstr("init"));
  EXPECT_THAT(refused({{"type", "init"}, {"protocol", 2}}), HasSubstr("unsupported_version"));
  const auto init = [&](const Json& fields) {
    Json message = {{"type", "init"}};
    message.update(fields);
    return refused(message);
  };
  EXPECT_THAT(init({{"model", "none"}}), HasSubstr("not_found: model: there is no such model"));
  EXPECT_THAT(init({{"start", "nowhere"}}), HasSubstr("not_found"));
  EXPECT_THAT(init({{"start", {{"kind", "procedural"}, {"style", "sea"}}}}),
              HasSubstr("bad_request"));
  EXPECT_THAT(init({{"start", 7}}), HasSubstr("bad_request"));
  EXPECT_THAT(init({{"first_frame", "/etc/passwd"}}), HasSubstr("not_found"));
  EXPECT_THAT(init({{"first_frame", binary(std::string(5000, 'x'))}}), HasSubstr("neither a PNG"));
  EXPECT_THAT(init({{"size", "47x32"}}), HasSubstr("multiples of 16"));
  EXPECT_THAT(init({{"size", "16000x16000"}}), HasSubstr("limit"));
  EXPECT_THAT(init({{"size", "big"}}), HasSubstr("bad_request"));
  EXPECT_THAT(init({{"num_inference_steps", 100000}}), HasSubstr("num_inference_steps"));
  EXPECT_THAT(init({{"history", "all"}}),
              HasSubstr("history: unknown value 'all'; choose one of: dense"));
  EXPECT_THAT(init({{"seed", -1}}), HasSubstr("seed"));
  EXPECT_THAT(init({{"second", 7}}), HasSubstr("second"));
  EXPECT_THAT(init({{"pacing", "fast"}}), HasSubstr("pacing"));
  EXPECT_THAT(init({{"world", "world_aaaaaaaaaaaaaaaaaaaaaaaaaa"}}), HasSubstr("not_found"));
  EXPECT_THAT(init({{"world", "../../etc"}}), HasSubstr("not_found"));
  EXPECT_THAT(init({{"prompt", std::string(5000, 'x')}}), HasSubstr("limit"));

  // Errors do not end a walk that is running.
  Begun walk = begin({{"paused", true}});
  const auto mistake = [&](const Json& message) {
    walk.client->send(message);
    const Json error = walk.client->until("error");
    EXPECT_EQ(error["fatal"], false) << error.dump();
    return error.dump();
  };
  EXPECT_THAT(mistake({{"type", "dance"}}), HasSubstr("bad_message"));
  EXPECT_THAT(mistake({{"type", 7}}), HasSubstr("bad_request"));
  EXPECT_THAT(mistake(event("fly", {}, 3)), HasSubstr("\"event_id\":3"));
  EXPECT_THAT(mistake(event("steps", 0, 4)), HasSubstr("\"event_id\":4"));
  EXPECT_THAT(mistake(event("steps", {{"view", 1}, {"steps", 1}})), HasSubstr("view"));
  EXPECT_THAT(mistake(event("history", 7)), HasSubstr("history"));
  EXPECT_THAT(mistake(event("prompt", {{"a", 1}})), HasSubstr("prompt"));
  EXPECT_THAT(mistake(event("camera_actions", "w", 6)), HasSubstr("\"event_id\":6"));
  EXPECT_THAT(mistake({{"type", "record"}, {"action", "stop"}, {"request_id", "r"}}),
              HasSubstr("\"request_id\":\"r\""));
  EXPECT_THAT(mistake({{"type", "load"}, {"world", 7}}), HasSubstr("bad_request"));
  walk.client->send(event("step"));
  EXPECT_EQ(walk.client->until_chunk()["chunk_index"], 1);
}

TEST_F(Walking, RecordsVideosAndPacesFrames) {
  start();
  Begun walk =
      begin({{"paused", true}, {"pacing", "measured"}, {"fps", 60}, {"second", Json::object()}});
  walk.client->send({{"type", "record"}, {"action", "start"}, {"view", -1}});
  EXPECT_EQ(walk.client->until("recording")["state"], "started");
  walk.client->send(event("step", 2));
  // One frame per message, in order, in both views.
  std::vector<int64_t> frames[2];
  while (frames[0].size() + frames[1].size() < 2 * 16) {
    const Json batch = walk.client->until("frame_batch");
    ASSERT_FALSE(batch.empty());
    EXPECT_EQ(batch["num_frames"], 1);
    frames[batch["view"].get<size_t>()].push_back(batch["frame_index"]);
  }
  for (const auto& each : frames) {
    EXPECT_TRUE(std::is_sorted(each.begin(), each.end()));
    EXPECT_EQ(each.size(), 16U);
    EXPECT_EQ(each.back(), 16);
  }
  walk.client->send({{"type", "record"}, {"action", "stop"}, {"request_id", 5}});
  const Json recording = walk.client->until("recording");
  EXPECT_EQ(recording["state"], "saved");
  EXPECT_EQ(recording["frames"], 16);
  EXPECT_EQ(recording["request_id"], 5);
  const Answer video = http(port(), "GET", recording["url"]);
  EXPECT_EQ(video.status, 200);
  EXPECT_EQ(video.headers.at("content-type"), "video/mp4");
  EXPECT_THAT(video.body.substr(0, 16), HasSubstr("ftyp"));
  const Json record =
      http(port(), "GET", "/v1/videos/" + recording["video"].get<std::string>()).json();
  EXPECT_EQ(record["status"], "completed");
  EXPECT_EQ(record["size"], "96x32");
}

}  // namespace
}  // namespace loci::serve::testing
