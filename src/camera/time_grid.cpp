// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/time_grid.h"

#include "loci/base/error.h"

namespace loci::camera {

namespace {

// Groups of elements: the first group has one element, every later group has `size`.

int64_t elements_in(int64_t groups, int64_t size) {
  LOCI_CHECK(groups >= 0 && size >= 1, "{} groups of {}", groups, size);
  return groups == 0 ? 0 : 1 + (groups - 1) * size;
}

int64_t complete_groups_in(int64_t elements, int64_t size) {
  LOCI_CHECK(elements >= 0 && size >= 1, "{} elements in groups of {}", elements, size);
  return elements == 0 ? 0 : 1 + (elements - 1) / size;
}

IndexRange elements_of(int64_t group, int64_t size) {
  return {elements_in(group, size), elements_in(group + 1, size)};
}

int64_t group_of(int64_t element, int64_t size) {
  LOCI_CHECK(element >= 0 && size >= 1, "element {} in groups of {}", element, size);
  return (element + size - 1) / size;
}

}  // namespace

int64_t TimeGrid::frames_in_latents(int64_t latents) const {
  return elements_in(latents, frames_per_latent);
}

int64_t TimeGrid::latents_in_chunks(int64_t chunks) const {
  if (!given_in_chunk) return elements_in(chunks, latents_per_chunk);
  LOCI_CHECK(chunks >= 0 && latents_per_chunk >= 2, "{} chunks of {} latents with the given one",
             chunks, latents_per_chunk);
  return chunks <= 1 ? chunks : (chunks - 1) * latents_per_chunk;
}

int64_t TimeGrid::frames_in_chunks(int64_t chunks) const {
  return frames_in_latents(latents_in_chunks(chunks));
}

int64_t TimeGrid::latents_in_frames(int64_t frames) const {
  return complete_groups_in(frames, frames_per_latent);
}

int64_t TimeGrid::chunks_in_latents(int64_t latents) const {
  if (!given_in_chunk) return complete_groups_in(latents, latents_per_chunk);
  LOCI_CHECK(latents >= 0 && latents_per_chunk >= 2,
             "{} latents in chunks of {} with the given one", latents, latents_per_chunk);
  return latents == 0 ? 0 : 1 + latents / latents_per_chunk;
}

int64_t TimeGrid::chunks_in_frames(int64_t frames) const {
  return chunks_in_latents(latents_in_frames(frames));
}

bool TimeGrid::whole_latents(int64_t frames) const {
  return frames > 0 && frames_in_latents(latents_in_frames(frames)) == frames;
}

bool TimeGrid::whole_chunks(int64_t latents) const {
  return latents > 0 && latents_in_chunks(chunks_in_latents(latents)) == latents;
}

int64_t TimeGrid::padded_latents(int64_t latents) const {
  return latents == 0 ? 0 : latents_of_chunk(chunk_of_latent(latents - 1)).end;
}

IndexRange TimeGrid::frames_of_latent(int64_t latent) const {
  return elements_of(latent, frames_per_latent);
}

IndexRange TimeGrid::latents_of_chunk(int64_t chunk) const {
  return {latents_in_chunks(chunk), latents_in_chunks(chunk + 1)};
}

IndexRange TimeGrid::frames_of_chunk(int64_t chunk) const {
  return {frames_in_chunks(chunk), frames_in_chunks(chunk + 1)};
}

int64_t TimeGrid::latent_of_frame(int64_t frame) const {
  return group_of(frame, frames_per_latent);
}

int64_t TimeGrid::chunk_of_latent(int64_t latent) const {
  if (!given_in_chunk) return group_of(latent, latents_per_chunk);
  LOCI_CHECK(latent >= 0 && latents_per_chunk >= 2, "latent {} in chunks of {} with the given one",
             latent, latents_per_chunk);
  return latent == 0 ? 0 : 1 + latent / latents_per_chunk;
}

int64_t TimeGrid::chunk_of_frame(int64_t frame) const {
  return chunk_of_latent(latent_of_frame(frame));
}

}  // namespace loci::camera
