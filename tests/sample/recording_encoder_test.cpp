// SPDX-License-Identifier: Apache-2.0
#include "loci/sample/recording_encoder.h"

#include <unistd.h>

#include <filesystem>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/model/autoencoder/pixels.h"
#include "loci/sample/open_stream.h"

#include "tests/base/expect_error.h"
#include "tests/sample/tiny_folder.h"

namespace loci::sample {
namespace {

namespace fs = std::filesystem;

class RecordingEncoderTest : public ::testing::Test {
 protected:
  RecordingEncoderTest() {
    at::manual_seed(1);
    frames_ = at::randint(256, {kFrames, testing::kTinyHeight, testing::kTinyWidth, 3}, at::kByte);
    for (int64_t i = 0; i < kLatents; ++i) {
      cameras_.push_back({{.position = {0.1 * static_cast<double>(i), 0, 0}}, {}});
    }
  }
  ~RecordingEncoderTest() override { fs::remove_all(path_); }

  static fs::path make_folder() {
    const fs::path path =
        fs::path(::testing::TempDir()) / fmt::format("loci_recording_encoder_{}", ::getpid());
    testing::make_tiny_folder(path, 1);
    return path;
  }
  // The latents of all frames in one call of the autoencoder.
  at::Tensor expected() const {
    return model::VaeEncoder(folder_.vae()).encode(model::pixels_from_frames(frames_));
  }
  at::Tensor frames(int64_t first, int64_t count) const { return frames_.narrow(0, first, count); }

  // The tiny model has chunks of two latents of four frames. The last chunk is not full.
  static constexpr int64_t kLatents = 12, kFrames = 1 + 4 * (kLatents - 1);
  fs::path path_ = make_folder();
  ModelFolder folder_{path_};
  at::Tensor frames_;
  std::vector<camera::Camera> cameras_;
};

TEST_F(RecordingEncoderTest, LatentsDoNotDependOnTheDivisionIntoCalls) {
  EXPECT_TRUE(at::equal(RecordingEncoder(folder_.vae()).encode(frames_), expected()));
  RecordingEncoder encoder(folder_.vae());
  const std::vector<at::Tensor> parts = {encoder.encode(frames(0, 5)), encoder.encode(frames(5, 4)),
                                         encoder.encode(frames(9, kFrames - 9))};
  EXPECT_TRUE(at::equal(at::cat(parts, 2), expected()));
}

TEST_F(RecordingEncoderTest, RejectsFramesThatDoNotFillLatents) {
  EXPECT_BAD_INPUT(RecordingEncoder(folder_.vae()).encode(frames(0, 4)), ::testing::_);
  EXPECT_INTERNAL_ERROR(RecordingEncoder(folder_.vae()).encode(frames(0, 0)),
                        ::testing::HasSubstr("expected [T, H, W, 3]"));
}

TEST_F(RecordingEncoderTest, AcceptsARecordingChunkByChunk) {
  Stream reference = open_stream(folder_), stream = open_stream(folder_);
  reference.accept_recording(expected(), cameras_);
  std::vector<int64_t> latents;
  at::Tensor decoded;
  RecordingEncoder(folder_.vae())
      .accept_all(
          stream, cameras_, [&](int64_t first, int64_t count) { return frames(first, count); },
          [&](const Chunk& chunk) {
            latents.push_back(chunk.first);
            decoded = decoded.defined() ? at::cat({decoded, chunk.frames}) : chunk.frames;
          });
  EXPECT_THAT(latents, ::testing::ElementsAre(0, 1, 3, 5, 7, 9, 11));
  EXPECT_EQ(decoded.size(0), kFrames);
  EXPECT_EQ(stream.frames(), kLatents);
  const std::vector<camera::Camera> next(2, cameras_.back());
  EXPECT_TRUE(at::equal(stream.push(next).latents, reference.push(next).latents));
}

}  // namespace
}  // namespace loci::sample
