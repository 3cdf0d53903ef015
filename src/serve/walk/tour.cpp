// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/tour.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "loci/base/error.h"

namespace loci::serve {

namespace {

constexpr double kMostTurnSeconds = 9;

int64_t frames_of(const TourShape& shape) { return shape.grid.frames_in_chunks(1 + shape.chunks); }

// Number of frames of the full turn: at most half of the tour.
int64_t turn_frames(const TourShape& shape, double fps) {
  return std::min<int64_t>(frames_of(shape) / 2, std::llround(kMostTurnSeconds * fps));
}

bool has_own_tour(const world::ClipOptions& options) {
  return options.scene.style && world::has_tour(*options.scene.style);
}

// Of a scene without its own tour, the rest after the turn is a walk that comes back, because it
// shows the same places from several sides.
world::ClipOptions path_options(world::ClipOptions options, const TourShape& shape) {
  options.revisit_share = 1;
  options.tour = has_own_tour(options);
  options.frames = frames_of(shape) - (options.tour ? 0 : turn_frames(shape, options.fps));
  return options;
}

}  // namespace

Tour::Tour(const world::ClipOptions& options, uint64_t seed, const TourShape& shape)
    : shape_(shape), maker_(path_options(options, shape)), seed_(seed) {
  const std::vector<camera::Pose> walk = maker_.plan_trajectory(seed, 0).poses;
  const int64_t turn = has_own_tour(options) ? 0 : turn_frames(shape, options.fps);
  for (int64_t i = 0; i < turn; ++i) {
    camera::Pose pose = walk.front();
    pose.rotation =
        pose.rotation *
        camera::rotation_from_angles(
            2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(turn), 0);
    poses_.push_back(pose);
  }
  poses_.insert(poses_.end(), walk.begin(), walk.end());
}

world::Clip Tour::render(int64_t first, int64_t frames) {
  const auto begin = poses_.begin() + static_cast<std::ptrdiff_t>(first);
  return maker_.make(seed_, 0, {begin, begin + static_cast<std::ptrdiff_t>(frames)});
}

StartPicture Tour::first() {
  const world::Clip clip = render(0, 1);
  return {clip.frames[0].clone(), clip.caption};
}

Tour::Part Tour::next() {
  LOCI_CHECK(!done(), "next() after the last of {} chunks", shape_.chunks);
  const camera::IndexRange frames = shape_.grid.frames_of_chunk(1 + shown_);
  const camera::IndexRange latents = shape_.grid.latents_of_chunk(1 + shown_);
  Part part;
  part.frames = render(frames.begin, frames.size()).frames;
  const camera::Pose origin = poses_.front().inverse();
  for (int64_t latent = latents.begin; latent < latents.end; ++latent) {
    part.poses.push_back(origin * poses_[static_cast<size_t>(shape_.grid.camera_frame(latent))]);
  }
  ++shown_;
  return part;
}

}  // namespace loci::serve
