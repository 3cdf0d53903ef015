// SPDX-License-Identifier: Apache-2.0
#include "loci/world/path/path_survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/expect_error.h"

namespace loci::world {
namespace {

TEST(PathSurvey, CountsRevisitsSpeedsAndCollisions) {
  ClipOptions options;
  options.frames = 321;
  options.revisit_share = 0.5;
  options.clips_per_scene = 10;
  const PathSurvey survey = survey_paths(2, 40, options);
  EXPECT_EQ(survey.paths, 40);
  EXPECT_EQ(survey.seconds, 20);
  EXPECT_NEAR(static_cast<double>(survey.planned), 20, 10);
  EXPECT_NEAR(static_cast<double>(survey.with_revisits), static_cast<double>(survey.planned), 5);
  // A path of 20 s returns after at most 20 s.
  EXPECT_GT(survey.paths_by_gap[0], 0.8 * static_cast<double>(survey.with_revisits));
  EXPECT_EQ(survey.paths_by_gap[2], 0);
  EXPECT_EQ(survey.frames_by_gap[2], 0);
  EXPECT_GT(survey.frames_by_gap[0], survey.paths_by_gap[0]);
  EXPECT_EQ(survey.collisions, 0);
  EXPECT_GE(survey.nearest, FreeSpace::kMargin);
  EXPECT_NEAR(survey.speed.median, 1, 0.15);
  EXPECT_NEAR(survey.turn_rate.median, 25, 12);
  EXPECT_LE(survey.speed.median, survey.speed.p95);
  EXPECT_LE(survey.speed.p95, survey.speed.highest);
  EXPECT_LT(survey.speed.highest, 1.3);
  EXPECT_LT(survey.turn_rate.highest, 60);
  // Independently of the number of threads.
  EXPECT_EQ(to_json(survey), to_json(survey_paths(2, 40, options, 3)));
  EXPECT_EQ(to_json(survey)["revisits_by_gap_s"][1]["from"], 20);
}

TEST(PathSurvey, MeasuresDesignedPaths) {
  ClipOptions options;
  options.frames = 161;
  options.clips_per_scene = 2;
  options.designed = {DesignedPath::kStatic, DesignedPath::kSpin};
  const PathSurvey survey = survey_paths(3, 2, options);
  EXPECT_EQ(survey.metres, 0);
  EXPECT_GT(survey.degrees, 100);
  EXPECT_GE(survey.still, 0.5);
  EXPECT_BAD_INPUT(survey_paths(3, 0, options), ::testing::HasSubstr("at least one"));
}

TEST(PathSurvey, ToursOfPlazasShowNearlyEverything) {
  ClipOptions options;
  options.frames = 40 * 16 + 1;
  options.revisit_share = 1;
  options.tour = true;
  options.scene.style = Style::kPlaza;
  options.width = 96;
  options.height = 64;
  const PathSurvey survey = survey_paths(4, 6, options, 2, true);
  ASSERT_TRUE(survey.pictures && survey.pictures->tour);
  EXPECT_GT(survey.pictures->tour->shown, 0.97);
  EXPECT_GT(survey.pictures->tour->least_shown, 0.93);
  EXPECT_LE(survey.pictures->tour->sharp, survey.pictures->tour->shown);
  EXPECT_GT(survey.pictures->tour->sharp, 0.7);
  // Half of 10 pixels, because these pictures are half as wide as those of the demo model.
  EXPECT_LT(survey.pictures->motion.median, 5);
  EXPECT_LT(survey.pictures->motion.p95, 7);
  EXPECT_EQ(to_json(survey), to_json(survey_paths(4, 6, options, 1, true)));
  EXPECT_EQ(to_json(survey)["tour"]["shown"], survey.pictures->tour->shown);
  options.xi = 0.5;
  EXPECT_BAD_INPUT(survey_paths(4, 1, options, 1, true), ::testing::HasSubstr("pinhole"));
}

}  // namespace
}  // namespace loci::world
