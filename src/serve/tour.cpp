// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/tour.h"

#include "loci/base/error.h"

namespace loci::serve {

namespace {

// People turn back to what they have seen; a walk that does so shows it from more sides.
world::ClipOptions tour_options(world::ClipOptions options, const TourShape& shape) {
  options.frames = 1 + shape.chunks * shape.chunk_latents * shape.frames_per_latent;
  options.revisit_share = 1;
  return options;
}

}  // namespace

Tour::Tour(const world::ClipOptions& options, uint64_t seed, const TourShape& shape)
    : shape_(shape),
      maker_(tour_options(options, shape)),
      seed_(seed),
      poses_(maker_.walk(seed, 0).poses) {}

world::Clip Tour::render(int64_t first, int64_t frames) {
  const auto begin = poses_.begin() + static_cast<std::ptrdiff_t>(first);
  return maker_.make(seed_, 0, {begin, begin + static_cast<std::ptrdiff_t>(frames)});
}

StartPicture Tour::first() {
  const world::Clip clip = render(0, 1);
  return {clip.frames[0].clone(), clip.caption};
}

Tour::Part Tour::next() {
  LOCI_CHECK(!done(), "a tour of {} chunks is over", shape_.chunks);
  const int64_t frames = shape_.chunk_latents * shape_.frames_per_latent;
  const int64_t first = 1 + shown_ * frames;
  Part part;
  part.frames = render(first, frames).frames;
  const camera::Pose origin = poses_.front().inverse();
  // A latent's pose is that of its last frame.
  for (int64_t i = shape_.frames_per_latent - 1; i < frames; i += shape_.frames_per_latent) {
    part.poses.push_back(origin * poses_[static_cast<size_t>(first + i)]);
  }
  ++shown_;
  return part;
}

}  // namespace loci::serve
