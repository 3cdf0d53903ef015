// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/geometry.h"

#include <numbers>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/camera/visible_directions.h"

#include "tests/base/expect_error.h"

namespace loci::camera {
namespace {

using ::testing::HasSubstr;

constexpr double kDegree = std::numbers::pi / 180;

// Poses that turn, tilt and move.
std::vector<Pose> walk(int count) {
  std::vector<Pose> poses;
  for (int i = 0; i < count; ++i) {
    poses.push_back({rotation_from_angles(0.7 * i, 0.4 * std::sin(i), 0.2 * i),
                     {1.5 * i, -0.3 * i, 0.8 * std::cos(i)}});
  }
  return poses;
}

FrameGeometry geometry_of(const std::vector<Pose>& poses, const Lens& lens, const TokenGrid& grid) {
  const std::vector<int64_t> starts = {0};
  return frame_geometry(with_lens(poses, lens), starts, grid, 6);
}

double distance_to_identity(const at::Tensor& product) {
  return (product - at::eye(4)).abs().max().item<double>();
}

TEST(Geometry, MatricesAreInverseToEachOther) {
  const TokenGrid grid{5, 8};
  for (const Lens lens : {Lens{.fov_x = 90 * kDegree}, Lens{.fov_x = 20 * kDegree},
                          Lens{.fov_x = 170 * kDegree}, Lens{.fov_x = 200 * kDegree, .xi = 0.9}}) {
    const FrameGeometry g = geometry_of(walk(4), lens, grid);
    EXPECT_LT(distance_to_identity(at::matmul(g.to_ray, g.from_ray)), 1e-5) << lens.fov_x;
    if (lens.fov_x < std::numbers::pi) {
      EXPECT_LT(distance_to_identity(at::matmul(g.project, g.unproject)), 1e-4) << lens.fov_x;
    }
    // Ray frames are rigid, and their origin is the camera's centre.
    const at::Tensor r = g.to_ray.narrow(-1, 0, 3).narrow(-2, 0, 3);
    EXPECT_LT((at::matmul(r, r.transpose(-1, -2)) - at::eye(3)).abs().max().item<double>(), 1e-5);
    EXPECT_TRUE(at::allclose(at::linalg_det(r), at::ones({4, grid.tokens()}), 1e-4));
    const Vec3 centre = walk(4)[2].position;
    const at::Tensor origin =
        at::matmul(g.to_ray[2][7], at::tensor({centre.x, centre.y, centre.z, 1.0}).to(at::kFloat));
    EXPECT_LT((origin - at::tensor({0.0, 0.0, 0.0, 1.0})).abs().max().item<double>(), 1e-5);
  }
}

TEST(Geometry, RaysAndProjectionAreInverse) {
  const TokenGrid grid{6, 9};
  for (const Lens lens :
       {Lens{.fov_x = 60 * kDegree}, Lens{.fov_x = 150 * kDegree, .xi = 0.5},
        Lens{.fov_x = 240 * kDegree, .xi = 1}, Lens{.fov_x = 120 * kDegree, .xi = 1.3}}) {
    for (int64_t row = 0; row < grid.rows; ++row) {
      for (int64_t column = 0; column < grid.columns; ++column) {
        const Vec3 ray = token_ray(grid, row, column, lens);
        if (ray == Vec3{}) continue;
        EXPECT_NEAR(norm(ray), 1, 1e-12);
        const GridPoint point = project_to_grid(grid, ray, lens);
        EXPECT_NEAR(point.column, static_cast<double>(column), 1e-6) << lens.fov_x;
        EXPECT_NEAR(point.row, static_cast<double>(row), 1e-6) << lens.fov_x;
      }
    }
    // The centre looks straight ahead, the left edge half a field of view to the left.
    const TokenGrid even{4, 8};
    EXPECT_NEAR(token_ray(even, 2, 4, lens).z, 1, 1e-12);
    const Vec3 edge = token_ray(even, 2, 0, lens);
    EXPECT_NEAR(std::atan2(-edge.x, edge.z), lens.fov_x / 2, 1e-9) << lens.xi;
  }
}

TEST(Geometry, TokensOutsideTheLensHaveNoRay) {
  // With xi > 1 the image is a disc; with a wide lens the corners are outside of it.
  const TokenGrid grid{12, 12};
  const Lens lens{.fov_x = 230 * kDegree, .xi = 1.5};
  int blind = 0;
  for (int64_t token = 0; token < grid.tokens(); ++token) {
    blind += token_ray(grid, token / 12, token % 12, lens) == Vec3{} ? 1 : 0;
  }
  EXPECT_GT(blind, 0);
  EXPECT_LT(blind, grid.tokens() / 2);
  EXPECT_EQ(token_ray(grid, 0, 0, lens), Vec3{});
  const FrameGeometry g = geometry_of(walk(3), lens, grid);
  for (const at::Tensor& part : {g.absolute, g.to_ray, g.from_ray, g.project, g.unproject}) {
    EXPECT_TRUE(at::isfinite(part).all().item<bool>());
  }
  EXPECT_EQ(g.absolute[1][0].abs().max().item<float>(), 0);
  EXPECT_EQ(g.to_ray[1][0].narrow(0, 0, 3).abs().max().item<float>(), 0);
  EXPECT_EQ(g.to_ray[1][0][3][3].item<float>(), 1);
}

TEST(Geometry, ExtremeLensesStayFinite) {
  const TokenGrid grid{7, 11};
  for (const Lens lens :
       {Lens{.fov_x = 1 * kDegree}, Lens{.fov_x = 179.9 * kDegree},
        Lens{.fov_x = 180 * kDegree, .xi = 1}, Lens{.fov_x = 359 * kDegree, .xi = 1},
        Lens{.fov_x = 300 * kDegree, .xi = 3}}) {
    // Looking horizontally, straight up and straight down, where "up" is undefined in the image.
    std::vector<Pose> poses;
    for (const double pitch : {0.0, 90.0, -90.0, 89.0}) {
      poses.push_back({rotation_from_angles(0.3, pitch * kDegree), {1, 2, 3}});
    }
    const FrameGeometry g = geometry_of(poses, lens, grid);
    for (const at::Tensor& part : {g.absolute, g.to_ray, g.from_ray, g.project, g.unproject}) {
      EXPECT_TRUE(at::isfinite(part).all().item<bool>()) << lens.fov_x << " " << lens.xi;
    }
    EXPECT_LE(g.absolute.narrow(-1, 0, 2).norm(2, -1).max().item<double>(), 1 + 1e-5);
    EXPECT_LE(g.absolute.select(-1, 2).abs().max().item<double>(), std::numbers::pi / 2 + 1e-6);
  }
}

TEST(Geometry, AbsoluteMapContainsUpAndLatitude) {
  const TokenGrid grid{8, 8};
  const FrameGeometry level = geometry_of({Pose{}}, {.fov_x = 90 * kDegree}, grid);
  // In the middle column the sky is straight up in the image (-y). The middle row is on the
  // horizon.
  EXPECT_NEAR(level.absolute[0][4 * 8 + 4][0].item<double>(), 0, 1e-6);
  EXPECT_NEAR(level.absolute[0][4 * 8 + 4][1].item<double>(), -1, 1e-6);
  EXPECT_NEAR(level.absolute[0][4 * 8 + 4][2].item<double>(), 0, 1e-6);
  EXPECT_NEAR(level.absolute[0][0 * 8 + 4][2].item<double>(), 45 * kDegree, 1e-5);
  // A camera rolled clockwise sees the sky rotated to the left by the same angle.
  const FrameGeometry rolled = geometry_of({Pose{rotation_from_angles(0, 0, 30 * kDegree), {}}},
                                           {.fov_x = 90 * kDegree}, grid);
  EXPECT_NEAR(rolled.absolute[0][4 * 8 + 4][0].item<double>(), -std::sin(30 * kDegree), 1e-5);
  EXPECT_NEAR(rolled.absolute[0][4 * 8 + 4][1].item<double>(), -std::cos(30 * kDegree), 1e-5);
  // Pitch changes the latitude.
  const FrameGeometry raised =
      geometry_of({Pose{rotation_from_angles(0, 20 * kDegree), {}}}, {.fov_x = 90 * kDegree}, grid);
  EXPECT_NEAR(raised.absolute[0][4 * 8 + 4][2].item<double>(), 20 * kDegree, 1e-5);
}

TEST(Geometry, RaysUseTheFirstLensOfTheirChunk) {
  const TokenGrid grid{2, 4};
  const std::vector<Pose> poses = walk(3);
  const std::vector<Lens> lenses = {{.fov_x = 1.0}, {.fov_x = 1.2}, {.fov_x = 1.4}};
  const std::vector<int64_t> starts = {0, 1};
  std::vector<Camera> cameras;
  for (size_t i = 0; i < 3; ++i) cameras.push_back({poses[i], lenses[i]});
  const FrameGeometry g = frame_geometry(cameras, starts, grid, 6);
  const FrameGeometry second = geometry_of(poses, lenses[1], grid);
  EXPECT_TRUE(at::equal(g.to_ray[2], second.to_ray[2]));
  // K̄ and the absolute map use the lens of each frame.
  const FrameGeometry own = geometry_of(poses, lenses[2], grid);
  EXPECT_TRUE(at::equal(g.absolute[2], own.absolute[2]));
  EXPECT_FALSE(at::equal(g.project[2], second.project[2]));
}

TEST(Geometry, RejectsCamerasWithoutChunkStarts) {
  EXPECT_INTERNAL_ERROR(frame_geometry(with_lens(walk(2), {}), {}, {2, 2}, 6),
                        HasSubstr("no chunk"));
}

TEST(VisibleDirections, CoverTheSphereEvenly) {
  Vec3 mean{};
  for (int n = 0; n < kSphereDirections; ++n) {
    EXPECT_NEAR(norm(sphere_direction(n)), 1, 1e-12);
    mean = mean + sphere_direction(n) * (1.0 / kSphereDirections);
  }
  EXPECT_LT(norm(mean), 1e-3);
  // A square image with a field of view of 90 degrees covers a sixth of the sphere.
  const auto seen = visible_directions({Pose{}, {.fov_x = 90 * kDegree}}, 1).directions.count();
  EXPECT_NEAR(static_cast<double>(seen) / kSphereDirections, 1.0 / 6, 0.003);
}

TEST(VisibleDirections, CoverageIsTheShareSeenByOthers) {
  const auto view = [](double yaw, double x) {
    const Pose pose{rotation_from_angles(yaw * kDegree, 0), {x, 0, 0}};
    return visible_directions({pose, {.fov_x = 90 * kDegree}}, 1.5);
  };
  const VisibleDirections ahead = view(0, 0), same = view(0, 1), far = view(0, 6),
                          back = view(180, 0);
  const auto share = [&](std::vector<const VisibleDirections*> others) {
    return coverage(ahead, others, 6);
  };
  EXPECT_EQ(share({}), 0);
  EXPECT_EQ(share({&same}), 1);
  EXPECT_EQ(share({&far}), 0);  // the distance must be smaller than the radius
  EXPECT_EQ(share({&back}), 0);
  const VisibleDirections right = view(45, 0), left = view(-45, 0);
  EXPECT_GT(share({&right}), 0.3);
  EXPECT_LT(share({&right}), 0.6);
  EXPECT_GT(share({&right, &left}), share({&right}));
  // The lens's own matrix is used. A camera without visible directions counts as uncovered.
  Lens narrow{.fov_x = 90 * kDegree};
  narrow.normalised = {1e6, 1e6, 0.5, 0.5};
  const VisibleDirections blind =
      visible_directions({Pose{rotation_from_angles(0.01, 0.02), {}}, narrow}, 1);
  EXPECT_EQ(blind.directions.count(), 0U);
  EXPECT_EQ(coverage(blind, {}, 6), 0);
  const VisibleDirections* const self[] = {&blind};
  EXPECT_EQ(coverage(blind, self, 6), 0);
}

}  // namespace
}  // namespace loci::camera
