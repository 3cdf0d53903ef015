// SPDX-License-Identifier: Apache-2.0
#include "loci/train/windows/past_copies.h"

#include "loci/base/error.h"

namespace loci::train {

PastCopies with_past_copies(const std::vector<model::ChunkSpan>& chunks,
                            const std::vector<bool>& asked) {
  LOCI_CHECK(!chunks.empty(), "a window without chunks");
  LOCI_CHECK(asked.empty() || asked.size() + 1 == chunks.size(), "one answer for each chunk");
  const auto is_asked = [&](size_t chunk) {
    return chunk > 0 && (asked.empty() || asked[chunk - 1]);
  };
  size_t last = chunks.size() - 1;
  while (last > 0 && !is_asked(last)) --last;
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
  for (size_t i = 0; i <= last; ++i) {
    if (is_asked(i)) append(chunks[i], /*present=*/true);
    if (i == 0 || i != last) append(chunks[i], /*present=*/false);
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
