// SPDX-License-Identifier: Apache-2.0
#include "loci/train/losses/clip_parts.h"

#include <algorithm>
#include <numeric>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/random.h"

namespace loci::train {

ClipParts::ClipParts(const ClipPartsConfig& config, at::IntArrayRef sizes,
                     std::span<const uint64_t> keys)
    : stack_(config.stack) {
  LOCI_CHECK(sizes.size() == 5 && sizes[2] >= stack_ && std::ssize(keys) == sizes[0],
             "{} keys and stacks of {} frames for clips [{}]", keys.size(), stack_,
             fmt::join(sizes, ", "));
  height_ = config.crop > 0 ? std::min(config.crop, sizes[3]) : sizes[3];
  width_ = config.crop > 0 ? std::min(config.crop, sizes[4]) : sizes[4];
  const int64_t fitting = sizes[2] / stack_;
  const int64_t number = config.number > 0 ? std::min(config.number, fitting) : fitting;
  for (const uint64_t key : keys) {
    Random random{key, 0x7061727473};
    Place& place = places_.emplace_back();
    place.top = random.between(0, sizes[3] - height_);
    place.left = random.between(0, sizes[4] - width_);
    // The clip is divided into stacks from a random frame on, and `number` of them are drawn.
    const int64_t first = random.between(0, sizes[2] - fitting * stack_);
    std::vector<int64_t> stacks(static_cast<size_t>(fitting));
    std::iota(stacks.begin(), stacks.end(), 0);
    for (int64_t i = 0; i < number; ++i) {
      std::swap(stacks[static_cast<size_t>(i)],
                stacks[static_cast<size_t>(random.between(i, fitting - 1))]);
      for (int64_t t = 0; t < stack_; ++t) {
        place.frames.push_back(first + stacks[static_cast<size_t>(i)] * stack_ + t);
      }
    }
  }
}

at::Tensor ClipParts::of(const at::Tensor& clips) const {
  std::vector<at::Tensor> parts;
  for (size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    const at::Tensor cropped = clips.select(0, static_cast<int64_t>(i))
                                   .narrow(2, place.top, height_)
                                   .narrow(3, place.left, width_);  // [3, T, h, w]
    parts.push_back(cropped.index_select(1, at::tensor(place.frames, at::kLong))
                        .unflatten(1, {-1, stack_})
                        .transpose(0, 1)
                        .flatten(1, 2));
  }
  return at::cat(parts);
}

}  // namespace loci::train
