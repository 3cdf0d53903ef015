// SPDX-License-Identifier: Apache-2.0
#include "loci/model/forward_context.h"

#include <numeric>

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::model {

std::vector<ChunkSpan> window_chunks(int64_t frames, int64_t chunk_size) {
  LOCI_CHECK(frames >= 1 && (frames - 1) % chunk_size == 0,
             "a window of {} frames is not 1 + a multiple of {}", frames, chunk_size);
  std::vector<ChunkSpan> chunks;
  for (int64_t begin = 0; begin < frames;) {
    const int64_t end = begin == 0 ? 1 : begin + chunk_size;
    ChunkSpan& chunk = chunks.emplace_back();
    chunk.begin = begin;
    chunk.end = end;
    chunk.earlier.resize(begin);
    std::iota(chunk.earlier.begin(), chunk.earlier.end(), int64_t{0});
    begin = end;
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

PastKeys gather_past(const memory::KvStore& store, std::span<const int64_t> frames,
                     std::span<const double> key_times) {
  LOCI_CHECK(frames.size() == key_times.size(), "{} key times for {} frames", key_times.size(),
             frames.size());
  const memory::KvLayout& layout = store.layout();
  PastKeys past;
  past.main.resize(layout.layers());
  past.camera.resize(layout.layers());
  if (frames.empty()) return past;
  std::vector<double> shifts;
  bool moved = false;
  for (size_t i = 0; i < frames.size(); ++i) {
    shifts.push_back(key_times[i] - static_cast<double>(frames[i]));
    moved = moved || shifts.back() != 0;
  }
  const kernels::HeadMap turn = time_shift(shifts, layout.tokens);
  for (int64_t layer = 0; layer < layout.layers(); ++layer) {
    if (layout.main_layers[layer]) {
      auto [key, value] = store.gather(layer, memory::Branch::kMain, frames);
      past.main[layer] = {moved ? kernels::head_map(key, turn) : key, value};
    }
    if (layout.camera_heads > 0) {
      auto [key, value] = store.gather(layer, memory::Branch::kCamera, frames);
      past.camera[layer] = {key, value};
    }
  }
  return past;
}

std::vector<double> compact_times(int64_t start, int64_t count) {
  std::vector<double> times(count);
  std::iota(times.begin(), times.end(), static_cast<double>(start - count));
  return times;
}

}  // namespace loci::model
