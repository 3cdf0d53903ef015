// SPDX-License-Identifier: Apache-2.0
#include "loci/model/transformer/ray_encoding.h"

#include <array>
#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/kernels/elementwise/head_map.h"
#include "loci/model/transformer/token_maps.h"

namespace loci::model {
namespace {

// Rays [n, 6] from directions (not normalised) and centres.
at::Tensor rays_of(const std::vector<std::array<double, 6>>& list) {
  std::vector<at::Tensor> rows;
  for (const std::array<double, 6>& ray : list) {
    rows.push_back(at::tensor(at::ArrayRef<double>(ray), at::kDouble));
  }
  const at::Tensor rays = at::stack(rows);
  rays.narrow(1, 0, 3).div_(rays.narrow(1, 0, 3).norm(2, 1, true).clone());
  return rays;
}

TEST(RayEncoding, FrequenciesAreKeyedAndHaveTheirBandwidths) {
  RayEncoding encoding;
  const at::Tensor all = ray_frequencies(encoding, 3, 64);
  EXPECT_EQ(all.sizes(), at::IntArrayRef({64, 42, 6}));
  // A head does not depend on the number of heads; blocks, heads and seeds differ.
  EXPECT_TRUE(at::equal(ray_frequencies(encoding, 3, 5), all.narrow(0, 0, 5)));
  EXPECT_FALSE(at::equal(all[0], all[1]));
  EXPECT_FALSE(at::equal(ray_frequencies(encoding, 2, 1)[0], all[0]));
  RayEncoding other = encoding;
  other.seed = 1;
  EXPECT_FALSE(at::equal(ray_frequencies(other, 3, 1)[0], all[0]));
  for (size_t i = 0; i < 3; ++i) {
    const at::Tensor own = all.slice(1, static_cast<int64_t>(i), c10::nullopt, 3);
    EXPECT_NEAR(own.narrow(2, 0, 3).std().item<double>() / encoding.direction_bandwidths[i], 1,
                0.05);
    EXPECT_NEAR(own.narrow(2, 3, 3).std().item<double>() / encoding.centre_bandwidths[i], 1, 0.05);
  }
}

// The mean interaction of two rays is the Gaussian kernel of the bandwidths.
TEST(RayEncoding, InteractionIsAGaussianKernelOverRays) {
  RayEncoding encoding;
  encoding.direction_bandwidths = {4};
  encoding.centre_bandwidths = {0.4};
  const at::Tensor rays = rays_of(
      {{0, 0, 1, 0, 0, 0}, {0.3, 0, 1, 0, 0, 0}, {0, 0.2, 1, 1, 0, -1}, {1, 0, 0, 5, 0, 5}});
  const at::Tensor phases = ray_phases(rays, ray_frequencies(encoding, 0, 400)).flatten(1);
  for (int64_t i = 0; i < rays.size(0); ++i) {
    const at::Tensor away = rays[i] - rays[0];
    const double d = away.narrow(0, 0, 3).norm().item<double>();
    const double c = away.narrow(0, 3, 3).norm().item<double>();
    EXPECT_NEAR((phases[i] - phases[0]).cos().mean().item<double>(),
                std::exp(-(16 * d * d + 0.16 * c * c) / 2), 0.02)
        << i;
  }
}

TEST(RayEncoding, RaysToThePointAtTheDistanceHaveEqualPhases) {
  RayEncoding encoding;
  encoding.distances = {5};
  const at::Tensor frequencies = ray_frequencies(encoding, 0, 2);
  // Centres at a distance of 5 m from (0, 0, 5), and one that is farther away.
  const at::Tensor phases = ray_phases(
      rays_of({{0, 0, 1, 0, 0, 0}, {-1, 0, 0, 5, 0, 5}, {0, 3, 4, 0, -3, 1}, {-1, 0, 0, 6, 0, 5}}),
      frequencies);
  EXPECT_TRUE(at::allclose(phases[0], phases[1], 1e-9, 1e-9));
  EXPECT_TRUE(at::allclose(phases[0], phases[2], 1e-9, 1e-9));
  EXPECT_FALSE(at::allclose(phases[0], phases[3], 1e-3, 1e-3));
}

class RayMaps : public ::testing::Test {
 protected:
  // Views from one place, and the first again at the end.
  RayMaps() {
    for (const double yaw : {0.0, 0.7, 2.0, 0.0}) {
      cameras_.push_back({{camera::rotation_from_angles(yaw, 0.1), {1, 0.2, 3}}, {}});
    }
    constexpr std::array<int64_t, 1> kStart = {0};
    geometry_ = camera::frame_geometry(cameras_, kStart, {2, 3}, 6);
    at::manual_seed(4);
    x_ = at::randn({1, 1, kHeads, kHeadChannels}).expand({1, 4 * 6, -1, -1}).contiguous();
  }
  RecurrentMaps maps(const RayEncoding& encoding, int64_t block = 0) const {
    const std::array<double, 4> times = {};
    return make_token_maps({&geometry_, 1}, times,
                           {memory::KeyEncoding::kRay, encoding, 2, kHeads})
        .recurrent_of(block);
  }

  static constexpr int64_t kHeads = 2;
  std::vector<camera::Camera> cameras_;
  camera::FrameGeometry geometry_;
  at::Tensor x_;
};

TEST_F(RayMaps, RotateByThePhasesOfTheRays) {
  const RayEncoding encoding;
  const RecurrentMaps maps = this->maps(encoding, 1);
  const at::Tensor y = kernels::head_map(x_, maps.query)[0];
  const at::Tensor phases =
      ray_phases(token_rays(geometry_), ray_frequencies(encoding, 1, kHeads)).to(at::kFloat);
  const at::Tensor pairs = x_[0].narrow(-1, 44, 84).unflatten(-1, {42, 2});
  const at::Tensor a = pairs.select(-1, 0), b = pairs.select(-1, 1);
  const at::Tensor expected =
      at::stack({a * phases.cos() - b * phases.sin(), a * phases.sin() + b * phases.cos()}, -1);
  EXPECT_TRUE(at::allclose(y.narrow(-1, 44, 84), expected.flatten(-2), 1e-4, 1e-4));
  // Views that repeat have equal keys; blocks have other frequencies.
  EXPECT_TRUE(at::allclose(y.narrow(0, 0, 6), y.narrow(0, 18, 6), 1e-4, 1e-4));
  EXPECT_FALSE(at::allclose(kernels::head_map(x_, this->maps(encoding, 0).query)[0], y, 0.1, 0.1));
  // Below channel 44 everything is as in the paper's maps.
  const std::array<double, 4> times = {};
  const RecurrentMaps paper = make_token_maps({&geometry_, 1}, times, {}).recurrent_of(1);
  for (const auto& [own, other] : {std::pair(&maps.query, &paper.query), {&maps.key, &paper.key}}) {
    EXPECT_TRUE(at::equal(kernels::head_map(x_, *own).narrow(-1, 0, 44),
                          kernels::head_map(x_, *other).narrow(-1, 0, 44)));
  }
  EXPECT_TRUE(at::equal(kernels::head_map(x_, maps.value), kernels::head_map(x_, paper.value)));
}

TEST_F(RayMaps, VariantsChangeWhatTheySay) {
  RayEncoding encoding;
  encoding.tiles = false;
  EXPECT_EQ(maps(encoding).key.tiles, 0);
  EXPECT_EQ(maps(encoding).value.tiles, 0);
  encoding.values = true;
  for (const int64_t channels : {84, 128}) {
    encoding.channels = channels;
    const RecurrentMaps own = maps(encoding);
    const at::Tensor mapped = kernels::head_map(x_, own.value);
    EXPECT_FALSE(at::allclose(mapped.narrow(-1, 44, 84), x_.narrow(-1, 44, 84), 0.1, 0.1));
    EXPECT_TRUE(at::allclose(kernels::head_map(mapped, own.output), x_, 1e-4, 1e-4));
  }
  // Without a camera's patch rotations, all channels are functions of the ray.
  encoding.values = false;
  EXPECT_TRUE(maps(encoding).value.rotations.empty());
  EXPECT_EQ(maps(encoding).query.rotations.size(), 1u);
  EXPECT_EQ(maps(encoding).query.rotations[0].begin, 0);
}

}  // namespace
}  // namespace loci::model
