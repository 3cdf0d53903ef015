// SPDX-License-Identifier: Apache-2.0
#include "loci/train/past_copies.h"

#include "loci/base/error.h"

namespace loci::train {

PastCopies with_past_copies(const std::vector<model::ChunkSpan>& chunks) {
  LOCI_CHECK(!chunks.empty(), "a window without chunks");
  PastCopies copies;
  std::vector<int64_t> seen_at(static_cast<size_t>(chunks.back().end));  // by frame of the window
  const auto append = [&](const model::ChunkSpan& chunk, bool present) {
    model::ChunkSpan& span = copies.chunks.emplace_back(chunk);
    span.begin = std::ssize(copies.frames);
    span.end = span.begin + chunk.end - chunk.begin;
    span.written = !present;
    for (int64_t& frame : span.earlier) frame = seen_at[static_cast<size_t>(frame)];
    for (int64_t frame = chunk.begin; frame < chunk.end; ++frame) {
      if (!present) seen_at[static_cast<size_t>(frame)] = std::ssize(copies.frames);
      copies.frames.push_back(frame);
      copies.present.push_back(present);
    }
  };
  for (const model::ChunkSpan& chunk : chunks) {
    if (chunk.begin > 0) append(chunk, /*present=*/true);
    if (chunk.begin == 0 || &chunk != &chunks.back()) append(chunk, /*present=*/false);
  }
  return copies;
}

std::vector<int64_t> PastCopies::outputs() const {
  std::vector<int64_t> at = {0};
  for (size_t i = 1; i < present.size(); ++i) {
    if (present[i]) at.push_back(static_cast<int64_t>(i));
  }
  return at;
}

}  // namespace loci::train
