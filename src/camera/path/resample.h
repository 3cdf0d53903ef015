// SPDX-License-Identifier: Apache-2.0
// Conversion of camera paths between frame rates and between video frames and latents, and padding
// to whole chunks.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "loci/camera/time_grid.h"
#include "loci/camera/trajectory.h"

namespace loci::camera {

// Frames, latents and chunks of path files: the published models' autoencoder and chunk size.
inline constexpr int kFramesPerLatent = 4;
inline constexpr TimeGrid kPathGrid{.frames_per_latent = kFramesPerLatent, .latents_per_chunk = 5};

// The largest number of cameras that resampling returns: 72 hours at 16 frames per second. This
// limits the memory, since a file of two lines can describe a path of any length.
inline constexpr int64_t kMaxPoses = int64_t{1} << 22;
inline constexpr double kWholePath = std::numeric_limits<double>::infinity();

// The path at `fps` cameras per second, starting at the first camera. Positions and lenses are
// interpolated linearly, rotations by slerp. A remainder shorter than one step is dropped. The path
// ends after `max_seconds`. More than kMaxPoses cameras are bad input.
Trajectory resample(const Trajectory& trajectory, double fps, double max_seconds = kWholePath);
// The same for cameras at the given times, which must increase: one time per camera.
Trajectory resample(const Trajectory& trajectory, const std::vector<double>& seconds, double fps,
                    double max_seconds = kWholePath);

// The cameras of the latents of a video with one camera per frame. A latent has the camera of its
// last frame. Frames at the end that do not fill a latent are dropped.
std::vector<Camera> latent_cameras(std::span<const Camera> frames, const TimeGrid& grid);
// One camera per latent from one per video frame: latent i has the camera of frame 4i. Up to three
// frames at the end that do not fill a latent are dropped. A path of latents is returned unchanged.
Trajectory latent_poses(const Trajectory& frames);
// The inverse: 4 (n - 1) + 1 video frames. The three frames between two latents are interpolated.
Trajectory frame_poses(const Trajectory& latents, double max_seconds = kWholePath);

// The smallest 1 + 5k that is at least `latents`, and at least 6.
int64_t padded_latents(int64_t latents);
// Repeats the last camera up to that count.
Trajectory pad_to_chunks(const Trajectory& latents);

}  // namespace loci::camera
