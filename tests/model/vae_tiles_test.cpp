// SPDX-License-Identifier: Apache-2.0
#include "loci/model/autoencoder/vae_tiles.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "loci/model/autoencoder/vae_stream.h"

#include "../base/expect_error.h"
#include "golden_vae.h"

namespace loci::model {
namespace {

using ::testing::HasSubstr;

TEST(VaeTiles, CoverAnyLengthWithTheOverlap) {
  EXPECT_EQ(tile_axis(7, 0, 4), (std::vector<TileSpan>{{0, 7}}));
  EXPECT_EQ(tile_axis(8, 8, 4), (std::vector<TileSpan>{{0, 8}}));
  EXPECT_EQ(tile_axis(12, 8, 4), (std::vector<TileSpan>{{0, 8}, {4, 8}}));
  for (int64_t length = 9; length < 60; ++length) {
    const std::vector<TileSpan> spans = tile_axis(length, 8, 2);
    EXPECT_EQ(spans.front().begin, 0);
    EXPECT_EQ(spans.back().end(), length);
    at::Tensor sum = at::zeros({3 * length});
    for (size_t i = 0; i < spans.size(); ++i) {
      if (i > 0) {
        EXPECT_GE(spans[i - 1].end() - spans[i].begin, 2) << length;
      }
      const at::Tensor shares = tile_shares(spans, i, 3, 2);
      EXPECT_GE(shares.min().item<float>(), 0);
      // A border inside the frame counts for nothing, one of the frame fully.
      EXPECT_EQ(shares[0].item<float>(), i == 0 ? 1 : 0);
      EXPECT_EQ(shares[-1].item<float>(), i + 1 == spans.size() ? 1 : 0);
      sum.narrow(0, 3 * spans[i].begin, 3 * spans[i].size).add_(shares);
    }
    EXPECT_LT((sum - 1).abs().max().item<float>(), 1e-6) << length;
  }
}

TEST(VaeTiles, RejectInvalidSizes) {
  const VaeConfig config = VaeConfig::wan22();
  VaeTiling{}.check(config);
  VaeTiling{256, 64}.check(config);
  EXPECT_BAD_INPUT((VaeTiling{100, 16}.check(config)), HasSubstr("multiple of 16, at least 32"));
  EXPECT_BAD_INPUT((VaeTiling{16, 16}.check(config)), HasSubstr("multiple of 16, at least 32"));
  EXPECT_BAD_INPUT((VaeTiling{-32, 16}.check(config)), HasSubstr("multiple of 16"));
  EXPECT_BAD_INPUT((VaeTiling{64, 48}.check(config)), HasSubstr("multiple of 16, at most 32"));
  EXPECT_BAD_INPUT((VaeTiling{64, 0}.check(config)), HasSubstr("cannot overlap by 0"));
}

// A smooth moving picture, [1, 3, 5, height, width].
at::Tensor smooth_clip(int64_t height, int64_t width) {
  const at::Tensor y = at::arange(height).view({1, 1, height, 1}) / 19.0;
  const at::Tensor x = at::arange(width).view({1, 1, 1, width}) / 23.0;
  const at::Tensor t = at::arange(5).view({1, 5, 1, 1}) / 3.0, c = at::arange(3).view({3, 1, 1, 1});
  return (0.8 * at::sin(x + t + c) * at::cos(y - t)).unsqueeze(0).to(at::kFloat);
}

struct TiledAndWhole {
  at::Tensor latents, tiled_latents, frames, tiled_frames;
};

TiledAndWhole tiled_and_whole(const VaeTiling& tiling, int64_t height, int64_t width) {
  const at::NoGradGuard no_grad;
  const GoldenVae golden;
  const VaeStreamOptions options{VaeState::kFull, tiling};
  const at::Tensor clip = smooth_clip(height, width);
  TiledAndWhole result;
  result.latents = VaeEncoder(golden.vae).encode(clip);
  result.tiled_latents = VaeEncoder(golden.vae, options).encode(clip);
  result.frames = VaeDecoder(golden.vae).decode(result.latents);
  result.tiled_frames = VaeDecoder(golden.vae, options).decode(result.latents);
  return result;
}

// Convolutions of the tiled levels reach 42 pixels; an overlap of 112 or more hides all
// differences.
TEST(VaeTiles, AWideOverlapChangesNothing) {
  const TiledAndWhole both = tiled_and_whole({224, 112}, 176, 240);
  EXPECT_LT(largest_difference(both.tiled_frames, both.frames), 2e-5);
  EXPECT_LT(largest_difference(both.tiled_latents, both.latents), 2e-5);
}

TEST(VaeTiles, SeamsOfANarrowOverlapAreSmallAndLocal) {
  // 11x15 latents are not a multiple of tiles of 6.
  const TiledAndWhole both = tiled_and_whole({96, 32}, 176, 240);
  const at::Tensor difference = (both.tiled_frames - both.frames).abs();
  // Random weights are less local than trained weights, so this is an upper bound.
  EXPECT_LT(difference.max().item<double>(), 0.05);
  EXPECT_LT(difference.mean().item<double>(), 0.002);
  EXPECT_LT(largest_difference(both.tiled_latents, both.latents),
            0.1 * both.latents.std().item<double>());
  // No visible line: differences between neighbouring pixels are those of the whole frame.
  for (const int64_t axis : {3, 4}) {
    EXPECT_LT(
        largest_difference(at::diff(both.tiled_frames, 1, axis), at::diff(both.frames, 1, axis)),
        0.03);
  }
}

TEST(VaeTiles, OnlyRoundingDiffersFarFromSeams) {
  // Two tiles of 160 pixels that overlap in pixels 128 to 160.
  const TiledAndWhole both = tiled_and_whole({160, 32}, 64, 288);
  const at::Tensor difference = (both.tiled_frames - both.frames).abs();
  EXPECT_GT(difference.narrow(4, 128, 32).max().item<double>(), 0);
  EXPECT_LT(difference.narrow(4, 0, 128 - 42).max().item<double>(), 2e-5);
  EXPECT_LT(difference.narrow(4, 160 + 42, 288 - 160 - 42).max().item<double>(), 2e-5);
}

}  // namespace
}  // namespace loci::model
