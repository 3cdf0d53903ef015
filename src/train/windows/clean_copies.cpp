// SPDX-License-Identifier: Apache-2.0
#include "loci/train/windows/clean_copies.h"

#include "loci/base/error.h"

namespace loci::train {

CopiedInput with_clean_copies(const std::vector<model::ChunkSpan>& chunks,
                              const std::vector<bool>& targets) {
  LOCI_CHECK(!chunks.empty(), "a window without chunks");
  LOCI_CHECK(targets.empty() || targets.size() + 1 == chunks.size(),
             "{} target flags for {} chunks after frame 0", targets.size(), chunks.size() - 1);
  const auto is_target = [&](size_t chunk) {
    return chunk > 0 && (targets.empty() || targets[chunk - 1]);
  };
  size_t last = chunks.size() - 1;
  while (last > 0 && !is_target(last)) --last;
  CopiedInput input;
  // By frame of the window: index of its clean copy in the input.
  std::vector<int64_t> copy_of(static_cast<size_t>(chunks.back().end));
  const auto append = [&](const model::ChunkSpan& chunk, bool target) {
    model::ChunkSpan& span = input.chunks.emplace_back(chunk);
    span.begin = std::ssize(input.frames);
    span.end = span.begin + chunk.end - chunk.begin;
    span.written = !target;
    for (int64_t& frame : span.earlier) frame = copy_of[static_cast<size_t>(frame)];
    for (int64_t frame = chunk.begin; frame < chunk.end; ++frame) {
      if (!target) copy_of[static_cast<size_t>(frame)] = std::ssize(input.frames);
      input.frames.push_back(frame);
      input.target.push_back(target);
    }
  };
  for (size_t i = 0; i <= last; ++i) {
    if (is_target(i)) append(chunks[i], /*target=*/true);
    if (i == 0 || i != last) append(chunks[i], /*target=*/false);
  }
  return input;
}

std::vector<int64_t> CopiedInput::outputs() const {
  std::vector<int64_t> indices = {0};
  for (size_t i = 1; i < target.size(); ++i) {
    if (target[i]) indices.push_back(static_cast<int64_t>(i));
  }
  return indices;
}

}  // namespace loci::train
