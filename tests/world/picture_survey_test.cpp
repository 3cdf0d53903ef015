// SPDX-License-Identifier: Apache-2.0
#include "loci/world/path/picture_survey.h"

#include <cmath>

#include <gtest/gtest.h>

#include "loci/world/path/trajectory_simulator.h"

namespace loci::world {
namespace {

class PictureSurvey : public ::testing::Test {
 protected:
  PictureSurvey() { format_.lens.fov_x = 75 * kPi / 180; }

  Scene scene_ = make_scene(3, {.style = Style::kPlaza});
  PictureFormat format_;
};

TEST_F(PictureSurvey, MeasuresTheMotionOfATurn) {
  // A turn by 4 degrees per latent: the middle of the picture moves by focal * tan(4 degrees), and
  // the edges move further.
  std::vector<camera::Pose> poses;
  for (int i = 0; i < 33; ++i) poses.push_back(pose_at({0, -4}, 1.6, i, 0));
  const std::vector<double> motion = picture_motion(scene_, poses, format_);
  EXPECT_EQ(motion.size(), 4u);
  const double middle = 96 / std::tan(37.5 * kPi / 180) * std::tan(4 * kPi / 180);
  for (const double pixels : motion) {
    EXPECT_GT(pixels, middle);
    EXPECT_LT(pixels, 1.35 * middle);
  }
  const std::vector<camera::Pose> still(9, poses.front());
  for (const double pixels : picture_motion(scene_, still, format_)) EXPECT_LT(pixels, 1e-6);
}

TEST_F(PictureSurvey, CoverageIsTheShareSeenBefore) {
  const camera::Pose ahead = pose_at({0, -4}, 1.6, 0, 0), behind = pose_at({0, -4}, 1.6, 180, 0);
  const auto one = [](const camera::Pose& pose) { return std::vector<camera::Pose>{pose}; };
  const Coverage same = measure_coverage(scene_, one(ahead), one(ahead), format_);
  EXPECT_GT(same.shown, 0.99);
  EXPECT_GT(same.sharp, 0.99);
  EXPECT_EQ(measure_coverage(scene_, one(ahead), one(behind), format_).shown, 0);
  // Half of the field of view further, about half of the picture is new.
  const Coverage half =
      measure_coverage(scene_, one(ahead), one(pose_at({0, -4}, 1.6, 37.5, 0)), format_);
  EXPECT_NEAR(half.shown, 0.5, 0.12);
  // From much closer, the resolution of the earlier view is too low.
  const Coverage near =
      measure_coverage(scene_, one(pose_at({0, -5}, 1.6, 0, 0)), one(pose_at({0, 4}, 1.6, 0, 0)),
                       format_);
  EXPECT_LT(near.sharp, 0.6 * near.shown);
}

}  // namespace
}  // namespace loci::world
