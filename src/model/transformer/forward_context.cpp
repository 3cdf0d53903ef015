// SPDX-License-Identifier: Apache-2.0
#include "loci/model/transformer/forward_context.h"

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

PastKeys::PastKeys(const memory::KvStore& store, std::vector<int64_t> frames,
                   std::span<const double> key_times)
    : store_(&store), frames_(std::move(frames)) {
  LOCI_CHECK(frames_.size() == key_times.size(), "{} key times for {} frames", key_times.size(),
             frames_.size());
  if (frames_.empty()) return;
  std::vector<double> shifts;
  bool turned = false;
  for (size_t i = 0; i < frames_.size(); ++i) {
    shifts.push_back(key_times[i] - static_cast<double>(frames_[i]));
    turned = turned || shifts.back() != 0;
  }
  const memory::KvLayout& layout = store.layout();
  if (turned) turn_ = time_shift(shifts, layout.tokens).to(layout.device);
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
  // Camera keys have no time to change. Beside keys that do, they are laid out once as well, by a
  // map that does nothing; beside an unbounded history that would double its memory.
  std::optional<kernels::HeadMap> map = turn_;
  if (map && branch == memory::Branch::kCamera) map.emplace();
  return std::make_shared<kernels::AttentionPast>(store_->past(layer, branch, frames_, map));
}

PastKeys::Entry PastKeys::entry(int64_t layer, memory::Branch branch) const {
  if (frames_.empty() || !store_->layout().keeps(layer, branch)) return nullptr;
  const auto staged = staged_.find({layer, branch});
  return staged == staged_.end() ? load(layer, branch) : staged->second;
}

std::vector<double> compact_times(int64_t start, int64_t count) {
  std::vector<double> times(count);
  std::iota(times.begin(), times.end(), static_cast<double>(start - count));
  return times;
}

}  // namespace loci::model
