// SPDX-License-Identifier: Apache-2.0
#include "loci/model/transformer/forward_context.h"

#include <algorithm>
#include <numeric>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/camera/time_grid.h"

namespace loci::model {

std::vector<ChunkSpan> window_chunks(int64_t frames, int64_t chunk_size) {
  const camera::TimeGrid grid{.latents_per_chunk = chunk_size};
  LOCI_CHECK(grid.whole_chunks(frames), "a window of {} frames is not 1 + a multiple of {}", frames,
             chunk_size);
  std::vector<ChunkSpan> chunks;
  for (int64_t i = 0; i < grid.chunks_in_latents(frames); ++i) {
    ChunkSpan& chunk = chunks.emplace_back();
    chunk.begin = grid.latents_of_chunk(i).begin;
    chunk.end = grid.latents_of_chunk(i).end;
    chunk.earlier.resize(chunk.begin);
    std::iota(chunk.earlier.begin(), chunk.earlier.end(), int64_t{0});
  }
  return chunks;
}

std::vector<ChunkSpan> even_chunks(int64_t frames, int64_t chunk_size) {
  std::vector<ChunkSpan> chunks;
  for (int64_t begin = 0; begin < frames; begin += chunk_size) {
    ChunkSpan& chunk = chunks.emplace_back();
    chunk.begin = begin;
    chunk.end = std::min(begin + chunk_size, frames);
    chunk.earlier.resize(begin);
    std::iota(chunk.earlier.begin(), chunk.earlier.end(), int64_t{0});
  }
  return chunks;
}

std::vector<ChunkSpan> planned_chunks(memory::HistoryPlanner planner, int64_t chunk_size,
                                      int64_t tokens_per_frame,
                                      std::span<const camera::Camera> cameras) {
  std::vector<ChunkSpan> chunks = window_chunks(std::ssize(cameras), chunk_size);
  for (ChunkSpan& chunk : chunks) {
    const auto first = static_cast<size_t>(chunk.begin);
    const auto count = static_cast<size_t>(chunk.end - chunk.begin);
    memory::PlannedChunk planned = planner.plan(cameras.subspan(first, count));
    chunk.rotation = key_rotation(planned.visible, tokens_per_frame);
    chunk.earlier = std::move(planned.visible.frames);
    for (memory::HistoryFrame& frame : planned.frames) frame.origin = memory::Origin::kRecorded;
    planner.commit(planned.frames);
  }
  return chunks;
}

std::optional<kernels::HeadMap> key_rotation(const memory::VisibleHistory& visible,
                                             int64_t tokens_per_frame) {
  const std::vector<double> shifts = visible.time_shifts();
  if (std::ranges::all_of(shifts, [](double shift) { return shift == 0; })) return std::nullopt;
  return time_shift(shifts, tokens_per_frame);
}

memory::KvLayout kv_layout(const TransformerConfig& config, int64_t batch, int64_t tokens,
                           at::ScalarType dtype) {
  memory::KvLayout layout;
  layout.batch = batch;
  layout.tokens = tokens;
  layout.heads = config.heads;
  layout.camera_heads = config.camera_heads();
  layout.channels = kHeadChannels;
  layout.dtype = dtype;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    layout.main_layers.push_back(!config.is_hybrid(layer));
  }
  return layout;
}

void FixedKeys::append(const FixedKeys& other) {
  if (layers.empty()) {
    layers = other.layers;
    return;
  }
  LOCI_CHECK(layers.size() == other.layers.size(), "fixed keys of {} and {} layers", layers.size(),
             other.layers.size());
  for (size_t i = 0; i < layers.size(); ++i) {
    layers[i].key = at::cat({layers[i].key, other.layers[i].key}, 1);
    layers[i].value = at::cat({layers[i].value, other.layers[i].value}, 1);
  }
}

PastKeys::PastKeys(const memory::KvStore& store, const memory::VisibleHistory& visible)
    : PastKeys(store, visible, key_rotation(visible, store.layout().tokens)) {}

PastKeys::PastKeys(const memory::KvStore& store, const memory::VisibleHistory& visible,
                   std::optional<kernels::HeadMap> key_map)
    : store_(&store), frames_(visible.frames), key_map_(std::move(key_map)) {
  if (frames_.empty()) return;
  const memory::KvLayout& layout = store.layout();
  if (key_map_) key_map_ = key_map_->to(layout.device);
  for (int64_t layer = 0; layer < layout.layers(); ++layer) {
    for (const memory::Branch branch : {memory::Branch::kMain, memory::Branch::kCamera}) {
      if (!layout.keeps(layer, branch)) continue;
      const Entry entry = load(layer, branch);
      const int64_t bytes = staged_bytes_ + entry->bytes();
      if (layout.staging_bytes > 0 && bytes > layout.staging_bytes) continue;
      staged_bytes_ = bytes;
      staged_[{layer, branch}] = entry;
    }
  }
}

PastKeys::Entry PastKeys::load(int64_t layer, memory::Branch branch) const {
  // Keys of the camera branch have no time. If main keys are mapped, an empty map lays out the
  // camera keys once as well. Without a map (an unbounded history) both are read from their
  // slots, because a copy would double the memory.
  std::optional<kernels::HeadMap> map = key_map_;
  if (map && branch == memory::Branch::kCamera) map.emplace();
  return std::make_shared<kernels::AttentionPast>(store_->past(layer, branch, frames_, map));
}

PastKeys::Entry PastKeys::entry(int64_t layer, memory::Branch branch) const {
  if (frames_.empty() || !store_->layout().keeps(layer, branch)) return nullptr;
  const auto staged = staged_.find({layer, branch});
  return staged == staged_.end() ? load(layer, branch) : staged->second;
}

}  // namespace loci::model
