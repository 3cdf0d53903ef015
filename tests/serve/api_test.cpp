// SPDX-License-Identifier: Apache-2.0
// The HTTP routes.
#include <filesystem>
#include <thread>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/camera/path/trajectory_io.h"
#include "loci/io/media/frames.h"
#include "loci/io/media/image.h"
#include "loci/serve/protocol/message.h"
#include "loci/serve/protocol/schema.h"
#include "loci/serve/videos/video_store.h"

#include "tests/io/read_frames.h"
#include "tests/serve/conformance.h"
#include "tests/serve/running_server.h"

namespace loci::serve::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class HttpApi : public RunningServer {
 protected:
  Answer post(const Json& body) const {
    return http(port(), "POST", "/v1/videos", {{"Content-Type", "application/json"}}, body.dump());
  }
  Json wait_for(const std::string& id) const {
    for (int i = 0; i < 600; ++i) {
      Json video = http(port(), "GET", "/v1/videos/" + id).json();
      EXPECT_EQ(differs_from_schema(video, "Video"), "");
      if (video["status"] == "completed" || video["status"] == "failed") return video;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return {};
  }
};

TEST_F(HttpApi, DescribesTheServer) {
  fs::create_directories(folder_ / "pictures");
  at::manual_seed(1);
  io::write_png(folder_ / "pictures/My photo.png", at::randint(0, 256, {30, 40, 3}, at::kByte));
  write_file(folder_ / "pictures/My photo.txt", "a place\n");
  // A start picture in the model folder, with a camera path of 3 latent frames.
  fs::create_directories(folder_ / "other/examples");
  for (const char* name : {"other/examples/old-town.png", "other/examples/My photo.png"}) {
    io::write_png(folder_ / name, at::randint(0, 256, {32, 48, 3}, at::kByte));
  }
  camera::Trajectory path;
  path.fps = 4;
  path.frames_per_pose = 4;
  path.cameras.resize(3);
  for (int i = 0; i < 3; ++i) path.cameras[i].pose.position = {5, 0, 1.0 + i};
  camera::write_trajectory(folder_ / "other/examples/old-town.json", path, camera::kLociJson);
  ServerOptions with_pictures = options(folder_);
  with_pictures.starts = folder_ / "pictures";
  start(with_pictures);
  const Json health = http(port(), "GET", "/health").json();
  EXPECT_EQ(health["status"], "ok");
  EXPECT_EQ(health["protocol"], 1);
  const Json models = http(port(), "GET", "/v1/models").json();
  ASSERT_EQ(models["data"].size(), 2U);
  EXPECT_EQ(models["data"][0]["id"], "tiny");
  EXPECT_EQ(models["data"][0]["object"], "model");
  EXPECT_EQ(models["data"][0]["loci"]["size"], Json({48, 32}));
  EXPECT_EQ(models["data"][0]["loci"]["text"], false);
  const Json starts = http(port(), "GET", "/v1/starts").json();
  EXPECT_EQ(starts["data"][0]["id"], "picture-My-photo");
  EXPECT_EQ(starts["data"][0]["prompt"], "a place");
  EXPECT_EQ(starts["data"][0]["path"], nullptr);
  EXPECT_EQ(starts["data"][1]["id"], "picture-old-town");
  EXPECT_EQ(starts["data"][1]["title"], "old town");
  const Json followed = http(port(), "GET", "/v1/starts/picture-old-town/path").json();
  ASSERT_EQ(followed["poses"].size(), 9U);  // video frames
  EXPECT_EQ(followed["poses"][0], Json({0, 0, 0, 1, 0, 0, 0}));
  EXPECT_NEAR(followed["poses"][6][2].get<double>(), 1.5, 1e-9);
  EXPECT_EQ(starts["data"][1]["path"], "/v1/starts/picture-old-town/path");
  EXPECT_EQ(http(port(), "GET", "/v1/starts/town-1/path").status, 404);
  EXPECT_EQ(http(port(), "GET", "/v1/starts/picture-old-town/path?fps=0").status, 400);
  EXPECT_EQ(starts["data"].size(), 16U);
  EXPECT_EQ(starts["styles"].size(), 7U);
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const Answer picture = http(port(), "GET", starts["data"][i]["picture"]);
    EXPECT_EQ(picture.headers.at("content-type"), "image/jpeg");
    EXPECT_GT(picture.body.size(), 1000U);
  }
  EXPECT_EQ(begin({{"start", "picture-My-photo"}, {"paused", true}}).session["prompt"], "a place");
  EXPECT_EQ(http(port(), "GET", "/schema").json(), protocol_schema(with_pictures.limits));
  for (const Json& model : models["data"]) EXPECT_EQ(differs_from_schema(model, "Model"), "");
  for (const Json& start : starts["data"]) EXPECT_EQ(differs_from_schema(start, "Start"), "");
  const std::string metrics = http(port(), "GET", "/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("# TYPE loci_chunk_seconds histogram"));
  EXPECT_THAT(metrics, HasSubstr("loci_http_requests_total{route=\"health\",status=\"200\"} 1"));
  const Answer page = http(port(), "GET", "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.headers.at("content-type"), HasSubstr("text/html"));
  EXPECT_THAT(page.headers.at("content-security-policy"), HasSubstr("default-src 'self'"));
  EXPECT_EQ(http(port(), "GET", "/", {{"If-None-Match", page.headers.at("etag")}}).status, 304);
  EXPECT_EQ(page.headers.count("content-encoding"), 0U);
  const Answer packed = http(port(), "GET", "/", {{"Accept-Encoding", "gzip, br"}});
  EXPECT_EQ(packed.status, 200);
  if (packed.headers.count("content-encoding") != 0) {  // the bundled page, not the plain index
    EXPECT_EQ(packed.headers.at("content-encoding"), "gzip");
    EXPECT_EQ(packed.body.substr(0, 2), "\x1f\x8b");
    EXPECT_NE(packed.headers.at("etag"), page.headers.at("etag"));
  }
  const Answer head = http(port(), "HEAD", "/v1/models");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(http(port(), "GET", "/nothing").json()["error"]["code"], "not_found");
  EXPECT_EQ(http(port(), "DELETE", "/v1/models").headers.at("allow"), "GET, HEAD");
}

TEST_F(HttpApi, OffersTheFamilyOfItsModels) {
  for (const char* model : {"tiny", "other"}) {
    Json defaults = load_json(folder_ / model / "generation.json");
    defaults["family"] = "plaza";
    write_file(folder_ / model / "generation.json", defaults.dump());
  }
  start();
  const Json models = http(port(), "GET", "/v1/models").json();
  EXPECT_EQ(models["data"][0]["loci"]["family"], "plaza");
  const Json starts = http(port(), "GET", "/v1/starts").json();
  EXPECT_EQ(starts["styles"], Json::array({"plaza"}));
  ASSERT_EQ(starts["data"].size(), 8U);
  for (const Json& start : starts["data"]) {
    EXPECT_EQ(start["style"], "plaza");
    EXPECT_EQ(start["tour_seconds"], 25);
    EXPECT_EQ(differs_from_schema(start, "Start"), "");
  }
  EXPECT_EQ(starts["data"][2]["id"], "plaza-3");
  // The keys move as fast as the cameras of the training data.
  const Begun walk = begin({{"start", "plaza-3"}, {"paused", true}});
  EXPECT_NEAR(walk.session["camera"]["move"].get<double>(), 0.8, 1e-9);
  EXPECT_NEAR(walk.session["camera"]["turn"].get<double>(), 15.5, 1e-9);
  // A model without a family can show every style.
  write_file(folder_ / "other" / "generation.json", R"({"width": 48, "height": 32, "steps": 2})");
  start();
  EXPECT_EQ(http(port(), "GET", "/v1/starts").json()["styles"].size(), 7U);
  EXPECT_EQ(http(port(), "GET", "/v1/models").json()["data"][1]["loci"]["family"], nullptr);
  write_file(folder_ / "other" / "generation.json", R"({"family": "plazza"})");
  EXPECT_THROW(start(), Error);
}

TEST_F(HttpApi, GeneratesVideos) {
  start();
  const Json created =
      post({{"prompt", "a town"}, {"seconds", "1"}, {"seed", 4}, {"action", "w-8,left-8"}}).json();
  EXPECT_EQ(created["object"], "video");
  EXPECT_EQ(created["status"], "queued");
  EXPECT_EQ(created["size"], "48x32");
  EXPECT_EQ(created["seconds"], "1");
  const std::string id = created["id"];
  const Json done = wait_for(id);
  EXPECT_EQ(done["status"], "completed") << done.dump();
  EXPECT_EQ(done["progress"], 100);
  EXPECT_EQ(done["frames"], 17);
  const std::string content = "/v1/videos/" + id + "/content";
  const Answer video = http(port(), "GET", content);
  EXPECT_EQ(video.status, 200);
  EXPECT_EQ(video.headers.at("content-length"), std::to_string(video.body.size()));
  write_file(folder_ / "a.mp4", video.body);
  EXPECT_EQ(io::read_frames(folder_ / "a.mp4").sizes(), at::IntArrayRef({17, 32, 48, 3}));
  const Answer part = http(port(), "GET", content, {{"Range", "bytes=4-7"}});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "ftyp");
  EXPECT_THAT(part.headers.at("content-range"), HasSubstr("bytes 4-7/"));
  EXPECT_EQ(http(port(), "GET", content, {{"Range", "bytes=99999999-"}}).status, 416);
  EXPECT_EQ(http(port(), "HEAD", content).body, "");
  EXPECT_EQ(http(port(), "GET", content + "?variant=thumbnail").headers.at("content-type"),
            "image/jpeg");

  // The same as a form with an uploaded picture.
  at::manual_seed(2);
  const std::vector<std::byte> png = io::encode_png(at::randint(0, 256, {32, 48, 3}, at::kByte));
  std::string form =
      "--b\r\nContent-Disposition: form-data; name=\"num_frames\"\r\n\r\n8\r\n"
      "--b\r\nContent-Disposition: form-data; name=\"input_reference\"; filename=\"x\"\r\n\r\n";
  form.append(reinterpret_cast<const char*>(png.data()), png.size());
  form += "\r\n--b--\r\n";
  const Json second = http(port(), "POST", "/v1/videos",
                           {{"Content-Type", "multipart/form-data; boundary=b"}}, form)
                          .json();
  EXPECT_EQ(wait_for(second["id"])["frames"], 9);

  const Json list = http(port(), "GET", "/v1/videos?limit=1&order=asc").json();
  EXPECT_EQ(list["data"].size(), 1U);
  EXPECT_EQ(list["has_more"], true);
  const std::string rest = "/v1/videos?order=asc&after=" + list["last_id"].get<std::string>();
  EXPECT_EQ(http(port(), "GET", rest).json()["data"].size(), 1U);
  EXPECT_EQ(http(port(), "DELETE", "/v1/videos/" + id).json()["deleted"], true);
  EXPECT_EQ(http(port(), "GET", "/v1/videos/" + id).status, 404);
  EXPECT_EQ(http(port(), "GET", content).status, 404);
}

TEST_F(HttpApi, ContinuesWorldsAsVideosAndCancelsJobs) {
  start();
  Begun walk = begin({{"paused", true}});
  walk.client->send(event("step", 2));
  walk.client->until_chunk();
  walk.client->until_chunk();
  // A world can be continued as a video while a walk has it open.
  const Json of_walk = post({{"world", walk.world()}, {"seconds", 0.5}}).json();
  EXPECT_EQ(wait_for(of_walk["id"])["frames"], 8);
  walk.client->send({{"type", "save"}});
  const Json saved = walk.client->until("saved")["world"];
  const Json video =
      post({{"world", saved["id"]}, {"seconds", 0.5}, {"action", "look_around"}}).json();
  EXPECT_EQ(wait_for(video["id"])["frames"], 8);
  // A long job that is canceled.
  const Json dropped = post({{"seconds", 60}, {"num_inference_steps", 100}}).json();
  EXPECT_EQ(http(port(), "DELETE", "/v1/videos/" + dropped["id"].get<std::string>()).status, 200);
  const Json next = post({{"seconds", 0.5}}).json();
  EXPECT_EQ(wait_for(next["id"])["status"], "completed");
}

TEST_F(HttpApi, ResumesVideoJobsAfterAStop) {
  start();
  at::manual_seed(3);
  const std::vector<std::byte> png = io::encode_png(at::randint(0, 256, {32, 48, 3}, at::kByte));
  const std::string picture(reinterpret_cast<const char*>(png.data()), png.size());
  Json body = {{"seconds", 2}, {"action", "w-16"}, {"seed", 5}, {"num_inference_steps", 3}};
  body["input_reference"] = "data:image/png;base64," + base64_encode(picture);
  const auto frames_of = [&](const Json& video) {
    const Json done = wait_for(video["id"]);
    EXPECT_EQ(done["status"], "completed") << done.dump();
    const std::string id = video["id"];
    // job.msgpack is deleted right after video.json says that the job is complete.
    const fs::path job = folder_ / "data/videos" / id / "job.msgpack";
    for (int i = 0; i < 1000 && fs::exists(job); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_FALSE(fs::exists(job));
    write_file(folder_ / "v.mp4", http(port(), "GET", "/v1/videos/" + id + "/content").body);
    return io::read_frames(folder_ / "v.mp4");
  };
  const at::Tensor expected = frames_of(post(body).json());
  // Two jobs; one of them may still be queued.
  const Json first = post(body).json(), second = post(body).json();
  while (http(port(), "GET", "/v1/videos/" + first["id"].get<std::string>()).json()["progress"] ==
         0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  stop();
  start();
  EXPECT_TRUE(frames_of(first).equal(expected));
  EXPECT_TRUE(frames_of(second).equal(expected));
}

TEST_F(HttpApi, FailsJobsThatCrashServersAndOrphanedRecordings) {
  const fs::path videos = folder_ / "data/videos";
  Metrics metrics;
  const Limits limits;
  fs::create_directories(folder_ / "data");
  std::string ended, broken, recording, away;
  {
    DiskBudget disk(folder_ / "data", limits, metrics);
    VideoStore store(folder_ / "data", limits, disk);
    const Json fields = {{"seconds", 0.5}};
    VideoInfo facts;
    facts.status = "in_progress";
    facts.model = "tiny";
    ended = store.create(facts, {{"fields", fields}, {"attempts", 3}})->id();
    away = store.create(facts, {{"fields", {{"model", "sold"}}}, {"attempts", 0}})->id();
    recording = store.create(facts)->id();
    broken = store.create(facts, {{"attempts", 0}})->id();
    write_file(videos / broken / "job.msgpack", "\xc1");
  }
  start();
  EXPECT_EQ(wait_for(ended)["error"]["code"], "interrupted");
  EXPECT_EQ(wait_for(recording)["error"]["code"], "interrupted");
  EXPECT_EQ(wait_for(away)["error"]["code"], "not_found");
  EXPECT_EQ(wait_for(broken)["error"]["code"], "internal");
}

TEST_F(HttpApi, ListsVideosOfTheSameSecondInTheOrderOfTheirCreation) {
  start();
  std::vector<std::string> ids;
  for (int i = 0; i < 6; ++i) {
    ids.push_back(post({{"num_frames", 1}, {"num_inference_steps", 1}}).json()["id"]);
  }
  const auto listed = [&](const std::string& query) {
    std::vector<std::string> found;
    const Json list = http(port(), "GET", "/v1/videos" + query).json();
    for (const Json& video : list["data"]) {
      EXPECT_EQ(video["created_us"].get<int64_t>() / 1'000'000, video["created_at"]);
      found.push_back(video["id"]);
    }
    return found;
  };
  EXPECT_EQ(listed("?order=asc"), ids);
  EXPECT_EQ(listed("?order=asc&limit=2&after=" + ids[1]),
            std::vector(ids.begin() + 2, ids.begin() + 4));
  std::reverse(ids.begin(), ids.end());
  EXPECT_EQ(listed(""), ids);
}

TEST_F(HttpApi, RefusesInvalidPicturesAtOnce) {
  ServerOptions small = options(folder_);
  small.limits.upload_pixels = 32 * 48;
  start(small);
  at::manual_seed(3);
  const auto png = [](int64_t height, int64_t width) {
    const std::vector<std::byte> bytes =
        io::encode_png(at::randint(0, 256, {height, width, 3}, at::kByte));
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const std::string good = png(32, 48);
  const auto upload = [&](const std::string& picture) {
    const std::string form =
        "--b\r\nContent-Disposition: form-data; name=\"num_frames\"\r\n\r\n1\r\n"
        "--b\r\nContent-Disposition: form-data; name=\"input_reference\"; filename=\"x\"\r\n\r\n" +
        picture + "\r\n--b--\r\n";
    return http(port(), "POST", "/v1/videos", {{"Content-Type", "multipart/form-data; boundary=b"}},
                form);
  };
  std::string damaged = good;
  damaged.replace(60, 40, 40, 'x');
  for (const std::string& picture :
       {std::string(), std::string("no picture"), std::string("\xff\xd8\xff\xe0"),
        good.substr(0, 40), good.substr(0, good.size() / 2), damaged}) {
    const Answer answer = upload(picture);
    EXPECT_EQ(answer.status, 400) << picture.size() << " bytes: " << answer.body;
    EXPECT_THAT(answer.body, HasSubstr("picture"));
  }
  EXPECT_EQ(upload(png(64, 48)).status, 429);
  EXPECT_EQ(upload(good).status, 200);
  EXPECT_EQ(http(port(), "GET", "/v1/videos").json()["data"].size(), 1U);
}

TEST_F(HttpApi, RefusesInvalidVideoRequests) {
  ServerOptions few = options(folder_);
  few.limits.queued_videos = 1;
  start(few);
  const auto refused = [&](const Json& body, int status) {
    const Answer answer = post(body);
    EXPECT_EQ(answer.status, status) << body.dump();
    return answer.json()["error"]["message"].get<std::string>();
  };
  EXPECT_THAT(refused({{"model", "none"}}, 404), HasSubstr("tiny, other"));
  EXPECT_THAT(refused({{"seconds", 1e6}}, 400), HasSubstr("seconds"));
  EXPECT_THAT(refused({{"seconds", "long"}}, 400), HasSubstr("seconds"));
  EXPECT_THAT(refused({{"action", "jump-4"}}, 400), HasSubstr("unknown key"));
  EXPECT_THAT(refused({{"action", "w"}}, 400), HasSubstr("key string"));
  EXPECT_THAT(refused({{"size", "50x50"}}, 400), HasSubstr("multiples"));
  EXPECT_THAT(refused({{"input_reference", std::string(200, '!')}}, 400), HasSubstr("base64"));
  EXPECT_THAT(refused({{"second", Json::object()}}, 400), HasSubstr("not supported for videos"));
  EXPECT_THAT(refused({{"world", "x"}}, 404), HasSubstr("world"));
  EXPECT_THAT(refused({{"start", "x"}}, 404), HasSubstr("start"));
  EXPECT_EQ(http(port(), "POST", "/v1/videos", {{"Content-Type", "text/plain"}}, "x").status, 415);
  EXPECT_EQ(http(port(), "POST", "/v1/videos", {{"Content-Type", "application/json"}}, "{").status,
            400);
  const Json running = post({{"seconds", 60}, {"num_inference_steps", 100}}).json();
  EXPECT_EQ(post({{"seconds", 1}}).status, 429);
  EXPECT_EQ(
      http(port(), "GET", "/v1/videos/" + running["id"].get<std::string>() + "/content").status,
      404);
}

}  // namespace
}  // namespace loci::serve::testing
