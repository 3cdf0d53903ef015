// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/time_grid.h"

#include <gtest/gtest.h>

#include "tests/base/expect_error.h"

namespace loci::camera {
namespace {

constexpr TimeGrid kGrid{.frames_per_latent = 4, .latents_per_chunk = 2};

TEST(TimeGrid, CountsFramesOfLatentsAndChunks) {
  EXPECT_EQ(kGrid.frames_per_chunk(), 8);
  EXPECT_EQ(kGrid.frames_in_latents(0), 0);
  EXPECT_EQ(kGrid.frames_in_latents(1), 1);
  EXPECT_EQ(kGrid.frames_in_latents(2), 5);
  EXPECT_EQ(kGrid.frames_in_latents(21), 81);
  EXPECT_EQ(kGrid.latents_in_chunks(0), 0);
  EXPECT_EQ(kGrid.latents_in_chunks(1), 1);
  EXPECT_EQ(kGrid.latents_in_chunks(4), 7);
  EXPECT_EQ(kGrid.frames_in_chunks(0), 0);
  EXPECT_EQ(kGrid.frames_in_chunks(1), 1);
  EXPECT_EQ(kGrid.frames_in_chunks(3), 17);
}

// Chunk 1 is generated together with the given latent 0.
TEST(TimeGrid, TheFirstChunkMayIncludeTheGivenLatent) {
  constexpr TimeGrid kJoint{
      .latents_per_chunk = 3, .given_in_chunk = true, .camera_at_start = true};
  EXPECT_EQ(kJoint.latents_of_chunk(0), (IndexRange{0, 1}));
  EXPECT_EQ(kJoint.latents_of_chunk(1), (IndexRange{1, 3}));
  EXPECT_EQ(kJoint.latents_of_chunk(2), (IndexRange{3, 6}));
  EXPECT_EQ(kJoint.frames_of_chunk(1), (IndexRange{1, 9}));
  for (int64_t chunks = 0; chunks < 5; ++chunks) {
    EXPECT_EQ(kJoint.chunks_in_latents(kJoint.latents_in_chunks(chunks)), chunks);
  }
  for (int64_t latent = 0; latent < 12; ++latent) {
    const IndexRange range = kJoint.latents_of_chunk(kJoint.chunk_of_latent(latent));
    EXPECT_LE(range.begin, latent);
    EXPECT_GT(range.end, latent);
  }
  EXPECT_TRUE(kJoint.whole_chunks(6));
  EXPECT_FALSE(kJoint.whole_chunks(7));
  EXPECT_EQ(kJoint.padded_latents(4), 6);
  // Latents have the cameras of the frames 0, 1, 5, 9.
  EXPECT_EQ(kJoint.camera_frame(0), 0);
  EXPECT_EQ(kJoint.camera_frame(1), 1);
  EXPECT_EQ(kJoint.camera_frame(3), 9);
}

TEST(TimeGrid, CountsCompleteLatentsAndChunksOnly) {
  EXPECT_EQ(kGrid.latents_in_frames(0), 0);
  EXPECT_EQ(kGrid.latents_in_frames(1), 1);
  EXPECT_EQ(kGrid.latents_in_frames(4), 1);
  EXPECT_EQ(kGrid.latents_in_frames(5), 2);
  EXPECT_EQ(kGrid.chunks_in_latents(0), 0);
  EXPECT_EQ(kGrid.chunks_in_latents(2), 1);
  EXPECT_EQ(kGrid.chunks_in_latents(3), 2);
  EXPECT_EQ(kGrid.chunks_in_frames(0), 0);
  EXPECT_EQ(kGrid.chunks_in_frames(8), 1);
  EXPECT_EQ(kGrid.chunks_in_frames(9), 2);
  EXPECT_EQ(kGrid.chunks_in_frames(16), 2);
}

TEST(TimeGrid, FindsTheRangesOfIndices) {
  EXPECT_EQ(kGrid.frames_of_latent(0), (IndexRange{0, 1}));
  EXPECT_EQ(kGrid.frames_of_latent(1), (IndexRange{1, 5}));
  EXPECT_EQ(kGrid.frames_of_latent(3), (IndexRange{9, 13}));
  EXPECT_EQ(kGrid.latents_of_chunk(0), (IndexRange{0, 1}));
  EXPECT_EQ(kGrid.latents_of_chunk(2), (IndexRange{3, 5}));
  EXPECT_EQ(kGrid.frames_of_chunk(0), (IndexRange{0, 1}));
  EXPECT_EQ(kGrid.frames_of_chunk(2), (IndexRange{9, 17}));
  EXPECT_EQ(kGrid.frames_of_chunk(2).size(), 8);
  EXPECT_EQ(kGrid.camera_frame(0), 0);
  EXPECT_EQ(kGrid.camera_frame(3), 12);
}

TEST(TimeGrid, RecognisesWholeLatentsAndChunksAndPads) {
  EXPECT_FALSE(kGrid.whole_latents(0));
  EXPECT_TRUE(kGrid.whole_latents(1));
  EXPECT_FALSE(kGrid.whole_latents(4));
  EXPECT_TRUE(kGrid.whole_latents(5));
  EXPECT_FALSE(kGrid.whole_chunks(0));
  EXPECT_TRUE(kGrid.whole_chunks(1));
  EXPECT_FALSE(kGrid.whole_chunks(2));
  EXPECT_TRUE(kGrid.whole_chunks(3));
  EXPECT_EQ(kGrid.padded_latents(0), 0);
  EXPECT_EQ(kGrid.padded_latents(1), 1);
  EXPECT_EQ(kGrid.padded_latents(2), 3);
  EXPECT_EQ(kGrid.padded_latents(3), 3);
}

// Compares every function with an enumeration of the frames.
TEST(TimeGrid, AgreesWithEnumerationForAllSizes) {
  for (const int64_t per_latent : {1, 2, 3, 4}) {
    for (const int64_t per_chunk : {1, 2, 5}) {
      const TimeGrid grid{per_latent, per_chunk};
      int64_t latent = 0, chunk = 0;
      for (int64_t frame = 0; frame < 100; ++frame) {
        if (frame == grid.frames_of_latent(latent).end) {
          EXPECT_EQ(grid.latents_in_frames(frame), latent + 1);
          EXPECT_EQ(grid.frames_in_latents(latent + 1), frame);
          EXPECT_EQ(grid.camera_frame(latent), latent * per_latent);
          EXPECT_TRUE(grid.whole_latents(frame));
          ++latent;
          if (latent == grid.latents_of_chunk(chunk).end) {
            EXPECT_EQ(grid.chunks_in_latents(latent), chunk + 1);
            EXPECT_EQ(grid.latents_in_chunks(chunk + 1), latent);
            EXPECT_EQ(grid.frames_in_chunks(chunk + 1), frame);
            EXPECT_EQ(grid.chunks_in_frames(frame), chunk + 1);
            EXPECT_TRUE(grid.whole_chunks(latent));
            EXPECT_EQ(grid.padded_latents(latent), latent);
            ++chunk;
            EXPECT_EQ(grid.frames_of_chunk(chunk).begin, frame);
          }
        }
        EXPECT_EQ(grid.latent_of_frame(frame), latent);
        EXPECT_EQ(grid.chunk_of_latent(latent), chunk);
        EXPECT_EQ(grid.chunk_of_frame(frame), chunk);
      }
    }
  }
}

TEST(TimeGrid, RejectsNegativeArgumentsAndEmptyGroups) {
  EXPECT_INTERNAL_ERROR(kGrid.frames_in_latents(-1), ::testing::HasSubstr("-1"));
  EXPECT_INTERNAL_ERROR(kGrid.latents_in_frames(-1), ::testing::HasSubstr("-1"));
  EXPECT_INTERNAL_ERROR(kGrid.chunk_of_latent(-1), ::testing::HasSubstr("-1"));
  EXPECT_INTERNAL_ERROR((TimeGrid{0, 5}.frames_in_latents(2)), ::testing::HasSubstr("groups of 0"));
}

}  // namespace
}  // namespace loci::camera
