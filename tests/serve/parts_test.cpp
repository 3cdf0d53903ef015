// SPDX-License-Identifier: Apache-2.0
// Components of the server without a network: engine, outbox, controls, pace, records, tours.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <new>
#include <system_error>
#include <thread>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/camera/lens.h"
#include "loci/serve/engine/engine.h"
#include "loci/serve/net/clock.h"
#include "loci/serve/net/http_message.h"
#include "loci/serve/net/outbox.h"
#include "loci/serve/net/rate_limit.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/storage/chunk_record.h"
#include "loci/serve/walk/controls.h"
#include "loci/serve/walk/pace.h"
#include "loci/serve/walk/snapshot_schedule.h"
#include "loci/serve/walk/tour.h"

namespace loci::serve {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

// Uses time slices of a given length and counts them.
class CountingTask : public Task {
 public:
  explicit CountingTask(milliseconds length, int most = 1 << 30) : length_(length), most_(most) {}
  std::optional<Clock::time_point> due() override {
    if (!ready) return std::nullopt;
    return Clock::time_point();
  }
  void run_slice(std::chrono::duration<double>) override {
    std::this_thread::sleep_for(length_);
    if (throws) throw std::runtime_error("broken");
    ++slices;
  }
  bool finished() override { return slices >= most_; }
  void failed() override { lost = true; }

  std::atomic<bool> ready = true, throws = false, lost = false;
  std::atomic<int> slices = 0;

 private:
  milliseconds length_;
  int most_;
};

void wait_for(const std::function<bool()>& condition) {
  const Clock::time_point end = Clock::now() + std::chrono::seconds(30);
  while (!condition() && Clock::now() < end) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(condition());
}

// The turn covers all directions, and the walk starts at the same place.
TEST(Tour, TurnsOnceAroundThenWalks) {
  world::ClipOptions options;
  options.width = 48;
  options.height = 32;
  options.split = world::Split::kTest;
  options.scene.style = world::Style::kTown;
  Tour tour(options, 1, {.chunks = 14});
  const StartPicture first = tour.first();
  EXPECT_EQ(first.image.sizes(), at::IntArrayRef({32, 48, 3}));
  EXPECT_FALSE(first.prompt.empty());
  std::vector<double> yaws;
  double away = 0;
  for (int64_t chunk = 0; chunk < 14; ++chunk) {
    EXPECT_FALSE(tour.done());
    EXPECT_NEAR(tour.progress(), static_cast<double>(chunk) / 14, 1e-9);
    const Tour::Part part = tour.next();
    EXPECT_EQ(part.frames.sizes(), at::IntArrayRef({20, 32, 48, 3}));
    ASSERT_EQ(part.poses.size(), 5U);
    for (const camera::Pose& pose : part.poses) {
      if (chunk < 7) {
        EXPECT_NEAR(camera::norm(pose.position), 0, 1e-9);
        yaws.push_back(camera::degrees(pose.yaw()));
      }
      away = std::max(away, camera::norm(pose.position));
    }
  }
  EXPECT_TRUE(tour.done());
  EXPECT_GT(away, 1);
  std::ranges::sort(yaws);
  yaws.push_back(yaws.front() + 360);
  for (size_t i = 1; i < yaws.size(); ++i) EXPECT_LT(yaws[i] - yaws[i - 1], 30);
}

// A plaza has its own tour, which ends where it began.
TEST(Tour, ShowsAWholePlaza) {
  world::ClipOptions options;
  options.width = 48;
  options.height = 32;
  options.split = world::Split::kTest;
  options.scene.style = world::Style::kPlaza;
  constexpr int64_t kChunks = 20;  // 25 s
  Tour tour(options, 1, {.chunks = kChunks});
  EXPECT_EQ(tour.first().image.sizes(), at::IntArrayRef({32, 48, 3}));
  std::vector<camera::Pose> poses;
  while (!tour.done()) {
    const Tour::Part part = tour.next();
    poses.insert(poses.end(), part.poses.begin(), part.poses.end());
  }
  ASSERT_EQ(poses.size(), 5U * kChunks);
  double away = 0, turned = 0;
  for (size_t i = 1; i < poses.size(); ++i) {
    away = std::max(away, camera::norm(poses[i].position));
    turned += camera::degrees(camera::angle_between(poses[i].rotation, poses[i - 1].rotation));
  }
  EXPECT_GT(away, 5);
  EXPECT_NEAR(turned, 360, 5);
  EXPECT_LT(camera::norm(poses.back().position), 0.05);
  EXPECT_LT(camera::degrees(poses.back().yaw()), 1);
}

TEST(Engine, SharesTimeNotSlices) {
  Metrics metrics;
  Engine engine(metrics);
  const auto quick = std::make_shared<CountingTask>(milliseconds(2));
  const auto slow = std::make_shared<CountingTask>(milliseconds(20));
  engine.add(quick);
  engine.add(slow);
  wait_for([&] { return slow->slices >= 15; });
  // Slices of the quick task take a tenth of the time, more or less.
  EXPECT_GT(quick->slices, 4 * slow->slices);
  EXPECT_LT(quick->slices, 20 * slow->slices);
  // A task that slept is not credited for that time.
  const auto late = std::make_shared<CountingTask>(milliseconds(2));
  late->ready = false;
  engine.add(late);
  const int before = quick->slices;
  wait_for([&] { return quick->slices > before + 100; });
  const int asleep = quick->slices;
  late->ready = true;
  engine.wake();
  wait_for([&] { return late->slices >= 50; });
  EXPECT_GT(quick->slices - asleep, 20);
}

TEST(Engine, DropsTasksThatThrow) {
  Metrics metrics;
  Engine engine(metrics);
  const auto broken = std::make_shared<CountingTask>(milliseconds(1));
  broken->throws = true;
  const auto short_one = std::make_shared<CountingTask>(milliseconds(1), 3);
  engine.add(broken);
  engine.add(short_one);
  wait_for([&] { return broken->lost && short_one->slices == 3; });
  EXPECT_EQ(short_one->slices, 3);
  EXPECT_EQ(metrics.errors, 1U);
}

TEST(Outbox, DropsTheOldestFramesBeyondTheLimit) {
  Outbox outbox(1000, 500);
  const Clock::time_point now = Clock::now();
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(outbox.put({std::string(300, static_cast<char>(i)), false, 2, now}));
  }
  EXPECT_EQ(outbox.dropped_frames(), 2 * 97);
  EXPECT_TRUE(outbox.put({std::string(400, 'm'), true, 0, {}}));
  EXPECT_FALSE(outbox.put({std::string(400, 'm'), true, 0, {}}));
  std::optional<Clock::time_point> next;
  EXPECT_EQ(outbox.take(now, next)->bytes.front(), 97);
  EXPECT_EQ(outbox.take(now, next)->bytes.front(), 98);
  EXPECT_EQ(outbox.take(now, next)->bytes.front(), 99);
  EXPECT_TRUE(outbox.take(now, next)->text);
  EXPECT_FALSE(outbox.take(now, next));
  EXPECT_FALSE(next);
  // Frames wait for their time; messages do not.
  outbox.put({"gone", false, 1, now + milliseconds(50)});
  outbox.drop_frames();
  outbox.put({"later", false, 1, now + milliseconds(50)});
  outbox.put({"message", true, 0, {}});
  EXPECT_EQ(outbox.take(now, next)->bytes, "message");
  EXPECT_FALSE(outbox.take(now, next));
  EXPECT_EQ(*next, now + milliseconds(50));
  EXPECT_EQ(outbox.take(*next, next)->bytes, "later");
}

CameraActions actions(const Json& payload) { return parse_camera_actions(payload, Limits()); }

CameraActions state(const Json& transition) {
  return actions({{"mode", "state"}, {"transitions", {transition}}});
}

TEST(Controls, TurnKeysSticksAndLooksIntoPoses) {
  Controls controls(16, 4, 4096);
  EXPECT_FALSE(controls.active());
  controls.apply(state({{"actions", {"w"}}}));
  std::vector<camera::Pose> poses = controls.take(2);
  ASSERT_EQ(poses.size(), 2U);
  // One metre per second: a quarter of a metre in four frames.
  EXPECT_NEAR(poses[0].position.z, 0.25, 1e-9);
  EXPECT_NEAR(poses[1].position.z, 0.5, 1e-9);
  controls.apply(state({{"actions", Json::array()}, {"look", {30, 0}}}));
  poses = controls.take(2);
  EXPECT_NEAR(poses[1].position.z, 0.5, 1e-9);  // released, and not a tap: the chunk before used it
  EXPECT_NEAR(poses[0].yaw(), camera::radians(15), 1e-9);
  EXPECT_NEAR(poses[1].yaw(), camera::radians(30), 1e-9);
  controls.apply(state({{"look", {-30, 500}}}));
  poses = controls.take(2);
  EXPECT_NEAR(poses[1].yaw(), 0, 1e-9);
  EXPECT_NEAR(poses[1].pitch(), controls.speeds().pitch_limit, 1e-9);
  // A tap between two chunks moves the camera for one latent frame.
  controls.set_pose(camera::Pose());
  controls.apply(state({{"actions", {"d"}}}));
  controls.apply(state({{"actions", Json::array()}}));
  poses = controls.take(2);
  EXPECT_NEAR(poses[0].position.x, 0.25, 1e-9);
  EXPECT_NEAR(poses[1].position.x, 0.25, 1e-9);
  // A stick forward and a key sideways: still one metre per second.
  controls.set_pose(camera::Pose());
  controls.apply(state({{"actions", {"d"}}, {"axes", {{"forward", 1}}}}));
  EXPECT_NEAR(camera::norm(controls.take(1)[0].position), 0.25, 1e-9);
  controls.apply(state({{"actions", Json::array()}, {"axes", {{"forward", 0.5}}}}));
  controls.set_pose(camera::Pose());
  EXPECT_NEAR(controls.take(1)[0].position.z, 0.125, 1e-9);
}

TEST(Controls, MoveAtTheGivenSpeeds) {
  camera::KeySpeeds speeds;
  speeds.move = 0.8;
  speeds.turn = camera::radians(16);
  Controls controls(16, 4, 4096, speeds);
  controls.apply(state({{"actions", {"w"}}}));
  EXPECT_NEAR(controls.take(4).back().position.z, 0.8, 1e-9);
  controls.apply(state({{"actions", {"right"}}}));
  EXPECT_NEAR(controls.take(4).back().yaw(), camera::radians(16), 1e-9);
}

TEST(Controls, FollowScriptsFrameByFrameAndRefuseInvalidOnes) {
  Controls controls(16, 4, 10);
  controls.apply(actions(Json::parse(R"([["w"],["w"],["w","left"],[],["w"],["w"]])")));
  const std::vector<camera::Pose> poses = controls.take(2);
  EXPECT_NEAR(poses[0].yaw(), camera::radians(-30.0 / 16), 1e-9);
  EXPECT_NEAR(camera::norm(poses[1].position), 5.0 / 16, 1e-4);
  EXPECT_FALSE(controls.active());
  const auto refused = [&](const std::string& payload) {
    try {
      controls.apply(actions(Json::parse(payload)));
      return std::string();
    } catch (const Refusal& refusal) {
      return refusal.code();
    }
  };
  for (const char* bad :
       {"7", "null", "{}", R"({"mode":"state"})", R"({"mode":"state","transitions":[7]})",
        R"({"mode":"state","transitions":[{"actions":["jump"]}]})",
        R"({"mode":"state","transitions":[{"actions":[7]}]})",
        R"({"mode":"state","transitions":[{"look":[1]}]})",
        R"({"mode":"state","transitions":[{"look":["a",1]}]})",
        R"({"mode":"state","transitions":[{"actions":["w"]},{"axes":7}]})", R"([["w"],7])"}) {
    EXPECT_EQ(refused(bad), "bad_request") << bad;
  }
  EXPECT_EQ(refused("[[],[],[],[],[],[],[],[],[],[],[]]"), "limit");
  EXPECT_FALSE(controls.active());  // nothing of it was taken
}

TEST(Controls, FollowPathsUntilAKeyIsPressed) {
  Controls controls(16, 4, 10);
  camera::Pose here;
  here.position = {0, 0, 5};
  controls.set_pose(here);
  Json poses = Json::array();
  // Half a metre to the right in eight frames, rolled by 90 degrees.
  for (int i = 1; i <= 8; ++i)
    poses.push_back({i / 16.0, 0, 0, std::sqrt(0.5), 0, 0, std::sqrt(0.5)});
  const Json path = {{"mode", "path"}, {"poses", poses}};
  controls.apply(actions(path));
  EXPECT_TRUE(controls.active());
  std::vector<camera::Pose> taken = controls.take(1);
  EXPECT_NEAR(taken[0].position.x, 0.25, 1e-9);
  EXPECT_NEAR(taken[0].position.z, 5, 1e-9);
  EXPECT_NEAR(taken[0].right().y, 1, 1e-9);
  // Releasing no key does not end the path. After its end the camera stays.
  controls.apply(state({{"actions", Json::array()}}));
  taken = controls.take(2);
  EXPECT_NEAR(taken[0].position.x, 0.5, 1e-9);
  EXPECT_NEAR(taken[1].position.x, 0.5, 1e-9);
  EXPECT_FALSE(controls.active());
  controls.apply(actions(path));
  controls.apply(state({{"actions", {"s"}}}));
  taken = controls.take(1);
  EXPECT_NEAR(taken[0].position.x, 0.5, 1e-9);
  EXPECT_NEAR(taken[0].position.z, 4.75, 1e-9);
  for (const char* bad :
       {R"({"mode":"path"})", R"({"mode":"path","poses":[]})",
        R"({"mode":"path","poses":[[1,2,3]]})", R"({"mode":"path","poses":[[0,0,0,0,0,0,0]]})",
        R"({"mode":"path","poses":[[1e9,0,0,1,0,0,0]]})"}) {
    EXPECT_THROW(actions(Json::parse(bad)), Refusal) << bad;
  }
}

TEST(Pace, SpreadsFramesOverTheTimeOfAChunk) {
  Pace pace;
  pace.start(16);
  const Clock::time_point zero = Clock::time_point(std::chrono::hours(1));
  const auto at = [&](double seconds) {
    return zero + std::chrono::duration_cast<Clock::duration>(Pace::Seconds(seconds));
  };
  // Faster than real time: frames at the video's rate, and the next chunk waits.
  EXPECT_EQ(pace.add(at(0), 16, 0.2), at(0));
  EXPECT_NEAR(pace.frame_seconds(), 1.0 / 16, 1e-6);
  EXPECT_NEAR(Pace::Seconds(pace.next_begin() - at(0)).count(), 1 - 0.25, 1e-6);
  EXPECT_NEAR(Pace::Seconds(pace.add(at(0.95), 16, 0.2) - at(1)).count(), 0, 1e-6);
  // Slower: frames are stretched to the measured interval.
  pace.start(16);
  for (int i = 0; i < 30; ++i) pace.add(at(4.0 * i), 16, 4);
  EXPECT_NEAR(pace.frame_seconds(), 0.25, 1e-3);
  EXPECT_LE(pace.next_begin(), at(4.0 * 29 + 0.01));
}

TEST(SnapshotSchedule, BoundsChunksAndTheTimeOfTheirReplay) {
  SnapshotSchedule by_number(3, 10);
  EXPECT_FALSE(by_number.unsaved());
  for (int round = 0; round < 2; ++round) {
    for (int chunk = 0; chunk < 2; ++chunk) {
      by_number.add(0.1);
      EXPECT_TRUE(by_number.unsaved());
      EXPECT_FALSE(by_number.due());
    }
    by_number.add(0.1);
    EXPECT_TRUE(by_number.due());
    by_number.saved();
    EXPECT_FALSE(by_number.unsaved());
    EXPECT_FALSE(by_number.due());
  }
  // Chunks of 3 s: a fourth one would exceed 10 s.
  SnapshotSchedule by_time(64, 10);
  EXPECT_FALSE(by_time.due());
  for (const bool due : {false, false, true}) {
    by_time.add(3);
    EXPECT_EQ(by_time.due(), due);
  }
  by_time.saved();
  by_time.add(20);
  EXPECT_TRUE(by_time.due());
}

TEST(TimeOfDayWatch, WaitsAnHourAfterTheTimeWasSet) {
  TimeOfDayWatch watch;
  const Clock::time_point start = Clock::now();
  const int64_t day = 1'700'000'000;
  const auto settled = [&](int64_t minutes, int64_t set) {
    return watch.settled(start + std::chrono::minutes(minutes), day + minutes * 60 + set);
  };
  EXPECT_TRUE(settled(0, 0));
  EXPECT_TRUE(settled(10, 30));  // a small correction
  EXPECT_FALSE(settled(20, 365 * 86400));
  EXPECT_FALSE(settled(30, 365 * 86400));
  EXPECT_FALSE(settled(40, 0));  // set back: the hour starts again
  EXPECT_FALSE(settled(90, 0));
  EXPECT_TRUE(settled(100, 0));
}

TEST(Refusals, TellALackOfMemoryFromOtherErrors) {
  const auto code_of = [](auto&& function) {
    try {
      function();
    } catch (...) {
      return reply_to_exception("a test").code;
    }
    return std::string("none");
  };
  EXPECT_EQ(code_of([] { throw std::bad_alloc(); }), "memory");
  EXPECT_EQ(code_of([] { at::empty({int64_t{1} << 60}, at::kByte); }), "memory");
  EXPECT_EQ(code_of([] { throw std::system_error(ENOMEM, std::generic_category()); }), "memory");
  EXPECT_EQ(code_of([] { fail_machine("the disk is full"); }), "storage");
  EXPECT_EQ(code_of([] { throw std::runtime_error("broken"); }), "internal");
  EXPECT_EQ(status_of("memory"), 503);
}

TEST(TokenBucket, AllowsABurstThenTheRate) {
  TokenBucket bucket(5);
  int passed = 0;
  for (int i = 0; i < 100; ++i) passed += bucket.take();
  EXPECT_GE(passed, 10);
  EXPECT_LT(passed, 20);
  RateLimiter limiter(1);
  EXPECT_TRUE(limiter.take("a"));
  EXPECT_TRUE(limiter.take("a"));
  EXPECT_FALSE(limiter.take("a"));
  EXPECT_TRUE(limiter.take("b"));
}

TEST(ChunkRecord, RoundTripsThroughAFile) {
  const fs::path file = fs::path(::testing::TempDir()) /
                        ("loci_chunk_" + std::to_string(::getpid()) + ".safetensors");
  ChunkRecord record;
  record.index = 7;
  record.recorded = true;
  record.prompt = "a town";
  record.cameras.resize(2);
  record.cameras[1].pose.position = {1, 2, 3};
  at::manual_seed(1);
  for (int v = 0; v < 2; ++v) {
    ChunkRecord::View view;
    view.settings.history.kind = v == 0 ? "sparse" : "dense";
    view.settings.solver.steps = 3;
    view.settings.readout = "off";
    view.settings.reset = v == 1;
    view.latents = at::randn({1, 3, 2, 4, 6});
    view.thumbnails = {"first", ""};
    view.newest = std::string("\0jpeg", 5);
    record.views.push_back(view);
  }
  write_chunk(file, record);
  const ChunkRecord back = read_chunk(file);
  EXPECT_EQ(back.index, 7);
  EXPECT_TRUE(back.recorded);
  EXPECT_EQ(back.prompt, "a town");
  EXPECT_EQ(back.cameras, record.cameras);
  ASSERT_EQ(back.views.size(), 2U);
  EXPECT_TRUE(back.views[1].latents.equal(record.views[1].latents));
  EXPECT_EQ(back.views[0].thumbnails, record.views[0].thumbnails);
  EXPECT_EQ(back.views[0].newest, record.views[0].newest);
  EXPECT_EQ(back.views[1].settings.to_json(), record.views[1].settings.to_json());
  fs::remove(file);
}

}  // namespace
}  // namespace loci::serve
