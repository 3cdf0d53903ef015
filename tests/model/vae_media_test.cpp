// SPDX-License-Identifier: Apache-2.0
#include "loci/model/autoencoder/vae_media.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/io/media/frames.h"
#include "loci/io/media/resize.h"
#include "loci/model/autoencoder/pixels.h"

#include "../base/expect_error.h"
#include "golden_vae.h"

namespace loci::model {
namespace {

using ::testing::HasSubstr;

at::Tensor picture(int64_t height, int64_t width, int64_t shift = 0) {
  const at::Tensor x = at::arange(width).view({1, width, 1}) + shift;
  const at::Tensor y = at::arange(height).view({height, 1, 1});
  return ((x * 3 + y * 5 + at::arange(3) * 60) % 256).to(at::kByte);
}

TEST(VaeMedia, AnImageOfAnySizeIsFittedAndThatIsSaid) {
  const GoldenVae golden;
  ::testing::internal::CaptureStderr();
  const at::Tensor latent = encode_image(golden.vae, picture(75, 101), 64, 32);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said,
              HasSubstr("the image was resized from 101 x 75 to 64 x 48, cut 8 pixels above"));
  const at::Tensor fitted = io::resize_and_crop(picture(75, 101), 64, 32).image;
  EXPECT_TRUE(latent.equal(VaeEncoder(golden.vae).encode(pixels_from_frames(fitted)).detach()));
  EXPECT_FALSE(latent.requires_grad());

  ::testing::internal::CaptureStderr();
  encode_image(golden.vae, picture(32, 64), 64, 32);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");

  EXPECT_BAD_INPUT(encode_image(golden.vae, picture(32, 64), 60, 32),
                   HasSubstr("60x32 pixels does not divide into latents of 16x16; use e.g. 48x32"));
  EXPECT_BAD_INPUT(encode_image(golden.vae, at::zeros({32, 64, 4}, at::kByte), 64, 32),
                   HasSubstr("convert it to RGB"));
  EXPECT_BAD_INPUT(pixels_from_frames(at::zeros({2, 32, 64, 1}, at::kByte)),
                   HasSubstr("1 channels; RGB has 3"));
}

TEST(VaeMedia, ARecordingIsEncodedAsItIsRead) {
  const GoldenVae golden;
  const TestFolder folder;
  std::vector<at::Tensor> frames;
  for (int64_t i = 0; i < 11; ++i) frames.push_back(picture(32, 64, 4 * i));
  io::write_frame_sequence(folder / "clip", at::stack(frames));

  ::testing::internal::CaptureStderr();
  const auto source = io::FrameSource::open(folder / "clip");
  const at::Tensor latents = encode_video(golden.vae, *source, 64, 32);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("last 2 frames were left out"));
  const at::NoGradGuard no_grad;
  const at::Tensor pixels = pixels_from_frames(at::stack(frames).narrow(0, 0, 9));
  const at::Tensor expected = VaeEncoder(golden.vae).encode(pixels);
  EXPECT_TRUE(latents.equal(expected));

  // Part of it; the next call goes on with the frames that follow, as a clip of its own.
  source->seek(0);
  EXPECT_TRUE(encode_video(golden.vae, *source, 64, 32, 2).equal(expected.narrow(2, 0, 2)));
  EXPECT_EQ(encode_video(golden.vae, *source, 64, 32, 1).size(2), 1);
  source->seek(source->frame_count());
  EXPECT_BAD_INPUT(encode_video(golden.vae, *source, 64, 32), HasSubstr("no frames"));
}

}  // namespace
}  // namespace loci::model
