// SPDX-License-Identifier: Apache-2.0
#include "loci/memory/kv/kv_store.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/base/expect_error.h"

namespace loci::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

KvLayout layout() {
  return {.batch = 2,
          .tokens = 3,
          .heads = 2,
          .camera_heads = 1,
          .channels = 4,
          .main_layers = {true, false}};
}

// Numbers that identify their place: 1000 * frame + 10 * layer + branch (+ 0.5 for values).
at::Tensor marked(int64_t first, int64_t count, int64_t layer, Branch branch, bool value) {
  const int64_t heads = branch == Branch::kMain ? 2 : 1;
  std::vector<at::Tensor> frames;
  for (int64_t i = 0; i < count; ++i) {
    const double mark = 1000.0 * static_cast<double>(first + i) +
                        10.0 * static_cast<double>(layer) + (branch == Branch::kMain ? 0 : 1) +
                        (value ? 0.5 : 0);
    frames.push_back(at::full({2, 3, heads, 4}, mark));
  }
  return at::cat(frames, 1);
}

void put_all(KvStore& store, int64_t first, int64_t count) {
  store.add_frames(first, count);
  for (int64_t layer = 0; layer < 2; ++layer) {
    for (const Branch branch : {Branch::kMain, Branch::kCamera}) {
      if (branch == Branch::kMain && !store.layout().main_layers[layer]) continue;
      store.put(layer, branch, first, marked(first, count, layer, branch, false),
                marked(first, count, layer, branch, true));
    }
  }
}

void expect_frames(const KvStore& store, const std::vector<int64_t>& frames) {
  const kernels::AttentionPast main = store.past(0, Branch::kMain, frames);
  const kernels::AttentionPast camera = store.past(1, Branch::kCamera, frames);
  for (size_t i = 0; i < frames.size(); ++i) {
    const auto at_token = static_cast<int64_t>(i) * 3;
    const auto part = [&](const at::Tensor& x) { return x.narrow(1, at_token, 3); };
    EXPECT_TRUE(at::equal(part(main.keys()), marked(frames[i], 1, 0, Branch::kMain, false)));
    EXPECT_TRUE(at::equal(part(main.values()), marked(frames[i], 1, 0, Branch::kMain, true)));
    EXPECT_TRUE(at::equal(part(camera.keys()), marked(frames[i], 1, 1, Branch::kCamera, false)));
    EXPECT_TRUE(at::equal(part(camera.values()), marked(frames[i], 1, 1, Branch::kCamera, true)));
  }
}

TEST(KvStore, BytesFollowTheLayout) {
  // One main layer of 2 heads and two camera layers of 1 head: 4 rows of 4 channels, key and value.
  EXPECT_EQ(layout().frame_bytes(), 2 * 2 * 3 * (1 * 2 + 2 * 1) * 4 * 4);
  KvLayout half = layout();
  half.dtype = at::kBFloat16;
  EXPECT_EQ(half.frame_bytes(), layout().frame_bytes() / 2);
  EXPECT_EQ(KvStore(layout(), 5).bytes(), 5 * layout().frame_bytes());
  EXPECT_EQ(KvStore(layout(), 0).bytes(), 0);
}

TEST(KvStore, BoundedReusesSlotsAndNeverGrows) {
  KvStore store(layout(), 5);
  const int64_t bytes = store.bytes();
  put_all(store, 0, 1);
  std::vector<int64_t> kept = {0};
  for (int64_t first = 1; first < 200; first += 2) {
    put_all(store, first, 2);
    kept.push_back(first);
    kept.push_back(first + 1);
    expect_frames(store, kept);
    // Frame 0 and the newest two frames are retained, in changing slots.
    if (kept.size() > 3) kept.erase(kept.begin() + 1, kept.end() - 2);
    store.retain(kept);
    EXPECT_EQ(store.frames(), kept);
    expect_frames(store, kept);
    EXPECT_EQ(store.bytes(), bytes);
  }
  EXPECT_FALSE(store.has(5));
  EXPECT_TRUE(store.has(0));
}

TEST(KvStore, BoundedRejectsFramesBeyondItsCapacity) {
  KvStore store(layout(), 2);
  put_all(store, 0, 2);
  EXPECT_INTERNAL_ERROR(store.add_frames(2, 1), HasSubstr("no slot is free"));
  EXPECT_INTERNAL_ERROR(store.add_frames(1, 1), HasSubstr("already stored"));
}

TEST(KvStore, UnboundedGrowsAndKeepsEverything) {
  KvStore store(layout(), 0);
  std::vector<int64_t> all;
  for (int64_t first = 0; first < 150; first += 5) {
    put_all(store, first, 5);
    for (int64_t i = 0; i < 5; ++i) all.push_back(first + i);
  }
  expect_frames(store, all);
  EXPECT_GE(store.bytes(), 150 * layout().frame_bytes());
  // Slots of dropped frames are reused before new slots are added.
  const int64_t bytes = store.bytes();
  store.retain(std::vector<int64_t>{0, 149});
  put_all(store, 150, 100);
  EXPECT_EQ(store.bytes(), bytes);
  expect_frames(store, {0, 149, 150, 249});
  // Dropping frames that do not exist is allowed.
  store.retain(std::vector<int64_t>{0, 7, 249});
  EXPECT_THAT(store.frames(), ElementsAre(0, 249));
}

TEST(KvStore, StoresInItsFormat) {
  KvLayout narrow = layout();
  narrow.dtype = at::kBFloat16;
  KvStore store(narrow, 1);
  put_all(store, 0, 1);
  EXPECT_EQ(store.past(0, Branch::kMain, std::vector<int64_t>{0}).keys().scalar_type(),
            at::kBFloat16);
}

TEST(KvStore, CopiesOnlyRotatedKeys) {
  KvLayout whole = layout();
  whole.channels = 32;  // the smallest number that the kernel supports
  KvStore store(whole, 4);
  store.add_frames(0, 3);
  const at::Tensor x = at::randn({2, 9, 2, 32});
  store.put(0, Branch::kMain, 0, x, x + 1);
  const std::vector<int64_t> frames = {0, 2};
  const kernels::AttentionPast in_place = store.past(0, Branch::kMain, frames);
  EXPECT_EQ(in_place.bytes(), 0);
  EXPECT_EQ(in_place.tokens(), 6);
  kernels::HeadMap turn;
  turn.rotations = {{.begin = 0, .pairs = 2, .adjacent = true}};
  turn.cosine = at::zeros({6, 2});
  turn.sine = at::ones({6, 2});
  const kernels::AttentionPast turned = store.past(0, Branch::kMain, frames, turn);
  // One panel of 32 keys per sample and head; values are not copied.
  EXPECT_EQ(turned.bytes(), 2 * 2 * 32 * 32 * 4);
  const at::Tensor seen = at::cat({x.narrow(1, 0, 3), x.narrow(1, 6, 3)}, 1);
  EXPECT_TRUE(at::equal(in_place.keys(), seen));
  EXPECT_TRUE(at::equal(turned.keys(), kernels::head_map(seen, turn)));
  EXPECT_TRUE(at::equal(turned.values(), seen + 1));
  // If no kernel applies, both are gathered.
  KvLayout odd = layout();
  KvStore gathered(odd, 4);
  put_all(gathered, 0, 3);
  EXPECT_EQ(gathered.past(0, Branch::kMain, frames).bytes(), 2 * 2 * 6 * 2 * 4 * 4);
}

TEST(KvStore, NarrowFormatsStayClose) {
  at::manual_seed(3);
  // Rows of very different magnitude, like camera keys far from the origin.
  const at::Tensor size = at::logspace(-2, 2, 3).view({1, 3, 1, 1});
  const at::Tensor key = at::randn({2, 3, 2, 4}) * size;
  const at::Tensor value = at::randn({2, 3, 2, 4}) * size;
  const struct {
    KvFormat format;
    double error;  // of the largest number in a row
    int64_t bytes;
  } cases[] = {
      {KvFormat::kPlain, 0, 16}, {KvFormat::kBf16, 1.0 / 256, 8}, {KvFormat::kInt8, 0.5 / 127, 8}};
  for (const auto& c : cases) {
    KvLayout narrow = layout();
    narrow.format = c.format;
    EXPECT_EQ(narrow.frame_bytes(), 2 * 2 * 3 * 4 * c.bytes);
    KvStore store(narrow, 2);
    store.add_frames(0, 1);
    store.put(0, Branch::kMain, 0, key, value);
    const kernels::AttentionPast entry = store.past(0, Branch::kMain, std::vector<int64_t>{0});
    EXPECT_EQ(entry.keys().scalar_type(), at::kFloat);
    for (const auto& [got, wanted] :
         {std::pair(entry.keys(), key), std::pair(entry.values(), value)}) {
      const at::Tensor largest = wanted.abs().amax(-1, /*keepdim=*/true);
      const double error = ((got - wanted).abs() / largest).max().item<double>();
      EXPECT_LE(error, c.error * 1.0001);
      if (c.format != KvFormat::kPlain) {
        EXPECT_GT(error, 0);
      }
    }
  }
  EXPECT_EQ(parse_kv_format("int8"), KvFormat::kInt8);
  EXPECT_BAD_INPUT(parse_kv_format("int4"), HasSubstr("plain, bf16, int8"));
}

TEST(KvStore, RestoredAndClonedStoresAreEqual) {
  for (const KvFormat format : {KvFormat::kPlain, KvFormat::kBf16, KvFormat::kInt8}) {
    KvLayout chosen = layout();
    chosen.format = format;
    KvStore store(chosen, 6);
    put_all(store, 0, 5);
    store.retain(std::vector<int64_t>{0, 2, 4});
    put_all(store, 5, 2);
    const std::vector<int64_t> frames = {0, 2, 4, 5, 6};
    KvStore loaded(chosen, 6);
    put_all(loaded, 9, 2);
    loaded.restore(store.save());
    KvStore copy = store.clone();
    EXPECT_EQ(loaded.frames(), frames);
    const at::Tensor before = store.past(0, Branch::kMain, frames).keys().clone();
    EXPECT_TRUE(at::equal(loaded.past(0, Branch::kMain, frames).keys(), before));
    EXPECT_TRUE(at::equal(loaded.past(1, Branch::kCamera, frames).values(),
                          store.past(1, Branch::kCamera, frames).values()));
    // Writing to the copy does not change the original.
    copy.put(0, Branch::kMain, 5, at::zeros({2, 3, 2, 4}), at::zeros({2, 3, 2, 4}));
    EXPECT_TRUE(at::equal(store.past(0, Branch::kMain, frames).keys(), before));
  }
}

TEST(KvStore, RejectsTensorsOfOtherLayouts) {
  KvStore store(layout(), 6);
  put_all(store, 0, 3);
  const auto saved = store.save();
  KvLayout other = layout();
  other.format = KvFormat::kInt8;
  EXPECT_BAD_INPUT(KvStore(other, 6).restore(saved), HasSubstr("shape or type of saved keys"));
  EXPECT_BAD_INPUT(KvStore(layout(), 2).restore(saved), HasSubstr("has 3 frames"));
  auto damaged = saved;
  damaged["main.0.key"] = damaged["main.0.key"].narrow(0, 0, 2);
  EXPECT_BAD_INPUT(KvStore(layout(), 6).restore(damaged), HasSubstr("lists 3"));
  damaged = saved;
  damaged["frames"] = at::tensor({0, 0, 1}, at::kLong);
  EXPECT_BAD_INPUT(KvStore(layout(), 6).restore(damaged), HasSubstr("listed twice"));
  damaged.erase("frames");
  EXPECT_BAD_INPUT(KvStore(layout(), 6).restore(damaged), HasSubstr("has no list of frames"));
}

TEST(KvStore, LayersWithoutHistoryRejectKeys) {
  KvStore store(layout(), 1);
  store.add_frames(0, 1);
  const at::Tensor key = marked(0, 1, 1, Branch::kMain, false);
  EXPECT_INTERNAL_ERROR(store.put(1, Branch::kMain, 0, key, key), HasSubstr("keeps no history"));
  EXPECT_INTERNAL_ERROR(store.put(0, Branch::kMain, 0, key.narrow(1, 0, 2), key),
                        HasSubstr("not whole frames"));
}

}  // namespace
}  // namespace loci::memory
