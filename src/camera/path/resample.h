// SPDX-License-Identifier: Apache-2.0
// Camera paths at another rate: between frame rates, between video frames and latents, and to whole
// chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "loci/camera/time_grid.h"
#include "loci/camera/trajectory.h"

namespace loci::camera {

// Frames, latents and chunks of path files: the published models' autoencoder and chunk size.
inline constexpr int kFramesPerLatent = 4;
inline constexpr TimeGrid kPathGrid{.frames_per_latent = kFramesPerLatent, .latents_per_chunk = 5};

// The path at `fps` poses a second from the first pose on: positions and lenses lerped, rotations
// slerped. What is left of the last step when the rates do not divide is dropped.
Trajectory resample(const Trajectory& trajectory, double fps);
// The same for poses at given rising times (as many as poses).
Trajectory resample(const Trajectory& trajectory, const std::vector<double>& seconds, double fps);

// One pose per latent from one per video frame: latent i has the pose of frame 4i. Up to three
// frames at the end that fill no latent are dropped. A path of latents is returned as it is.
Trajectory latent_poses(const Trajectory& frames);
// The way back: 4 (n - 1) + 1 video frames, the three between two latents interpolated.
Trajectory frame_poses(const Trajectory& latents);

// The smallest 1 + 5k that is at least `latents`, and at least 6.
int64_t padded_latents(int64_t latents);
// Holds the last pose up to that count.
Trajectory pad_to_chunks(const Trajectory& latents);

}  // namespace loci::camera
