// SPDX-License-Identifier: Apache-2.0
// The only place for arithmetic between video frames, latent frames and chunks.
#pragma once

#include <cstdint>

namespace loci::camera {

// Indices [begin, end).
struct IndexRange {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
  bool operator==(const IndexRange&) const = default;
};

// The division of a video in time:
//   frames   0 | 1 2 3 4 | 5 6 7 8 | 9 …    frames_per_latent = 4
//   latents  0 |    1    |    2    | …      latents_per_chunk = 2
//   chunks   0 |         1         | …
// Latent 0 is frame 0 alone. Every later latent is `frames_per_latent` frames. Chunk 0 is latent 0
// alone. Every later chunk is `latents_per_chunk` latents (see given_in_chunk). All indices count
// from 0, and all arguments must be 0 or more: others are a programmer's error.
//
// Names: `x_in_ys(n)` converts a count, for the first n. `xs_of_y(i)` is the range of index i.
// `y_of_x(i)` is the index that contains i.
struct TimeGrid {
  int64_t frames_per_latent = 4;  // the autoencoder's temporal factor
  int64_t latents_per_chunk = 5;  // the transformer's chunk size
  // Whether the transformer generates chunk 1 together with the given latent 0. Chunk 1 then has
  // latents_per_chunk - 1 latents. Needs at least two latents per chunk.
  bool given_in_chunk = false;
  // Whether a latent has the camera of its first frame instead of its last.
  bool camera_at_start = false;

  bool operator==(const TimeGrid&) const = default;

  // Of every chunk but the first (with given_in_chunk, but the first two).
  int64_t frames_per_chunk() const { return frames_per_latent * latents_per_chunk; }

  // Number of frames in the first `latents` latents, and so on. 0 gives 0.
  int64_t frames_in_latents(int64_t latents) const;
  int64_t latents_in_chunks(int64_t chunks) const;
  int64_t frames_in_chunks(int64_t chunks) const;
  // The inverse: the number of complete latents or chunks. An incomplete one at the end does not
  // count.
  int64_t latents_in_frames(int64_t frames) const;
  int64_t chunks_in_latents(int64_t latents) const;
  int64_t chunks_in_frames(int64_t frames) const;

  // Whether a positive number of frames or latents fills its last latent or chunk.
  bool whole_latents(int64_t frames) const;
  bool whole_chunks(int64_t latents) const;
  // The smallest number of latents that is at least `latents` and fills whole chunks.
  int64_t padded_latents(int64_t latents) const;

  IndexRange frames_of_latent(int64_t latent) const;
  IndexRange latents_of_chunk(int64_t chunk) const;
  IndexRange frames_of_chunk(int64_t chunk) const;

  int64_t latent_of_frame(int64_t frame) const;
  int64_t chunk_of_latent(int64_t latent) const;
  int64_t chunk_of_frame(int64_t frame) const;

  // The latent has the camera of this frame.
  int64_t camera_frame(int64_t latent) const {
    const IndexRange frames = frames_of_latent(latent);
    return camera_at_start ? frames.begin : frames.end - 1;
  }
};

}  // namespace loci::camera
