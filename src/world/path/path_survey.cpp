// SPDX-License-Identifier: Apache-2.0
#include "loci/world/path/path_survey.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "loci/base/error.h"
#include "loci/base/jobs.h"
#include "loci/base/progress.h"
#include "loci/camera/path/resample.h"
#include "loci/camera/revisit.h"
#include "loci/world/path/free_space.h"
#include "loci/world/path/picture_survey.h"

namespace loci::world {

namespace {

constexpr double kDegrees = 180 / kPi;
// Slower steps count as standing still or not turning.
constexpr double kLeastSpeed = 0.05;    // metres per second
constexpr double kLeastTurnRate = 0.5;  // degrees per second

// Measurements of one path.
struct Measured {
  std::array<int64_t, 3> frames_by_gap{};
  double metres = 0, degrees = 0;
  std::vector<double> speeds, turn_rates;
  int64_t still = 0, steps = 0;
  double nearest = std::numeric_limits<double>::infinity();
  std::vector<double> motions;
  std::optional<Coverage> tour;
};

size_t gap_class(double gap) {
  size_t which = 0;
  while (which + 1 < kRevisitGaps.size() && gap > kRevisitGaps[which + 1]) ++which;
  return which;
}

Measured measure(const ClipMaker::PlannedTrajectory& trajectory, double fps) {
  Measured m;
  const std::vector<camera::Pose>& poses = trajectory.poses;
  for (const camera::Revisit& revisit : camera::find_revisits(poses, fps))
    ++m.frames_by_gap[gap_class(revisit.gap)];
  for (const camera::Pose& pose : poses)
    m.nearest =
        std::min(m.nearest, trajectory.free_space.clearance({pose.position.x, pose.position.z}));
  for (size_t i = 1; i < poses.size(); ++i) {
    m.metres += camera::norm(poses[i].position - poses[i - 1].position);
    m.degrees += camera::angle_between(poses[i].rotation, poses[i - 1].rotation) * kDegrees;
  }
  const double rate = fps / static_cast<double>(camera::kFramesPerLatent);
  for (size_t i = camera::kFramesPerLatent; i < poses.size(); i += camera::kFramesPerLatent) {
    const camera::Pose &a = poses[i - camera::kFramesPerLatent], &b = poses[i];
    const double speed = camera::norm(b.position - a.position) * rate;
    const double turn = camera::angle_between(b.rotation, a.rotation) * kDegrees * rate;
    if (speed > kLeastSpeed) m.speeds.push_back(speed);
    if (turn > kLeastTurnRate) m.turn_rates.push_back(turn);
    m.still += speed <= kLeastSpeed && turn <= kLeastTurnRate ? 1 : 0;
    ++m.steps;
  }
  return m;
}

// The frames of a tour are compared at four per second, those after it at one per second.
void measure_pictures(Measured& m, const ClipMaker::PlannedTrajectory& trajectory,
                      const ClipOptions& options) {
  const PictureFormat format{lens_of(options), options.width, options.height};
  const std::vector<camera::Pose>& poses = trajectory.poses;
  m.motions = picture_motion(trajectory.scene, poses, format);
  const auto end = static_cast<size_t>(std::llround(kTourSeconds * options.fps));
  if (!options.tour || poses.size() <= end) return;
  const auto second = static_cast<size_t>(std::max<int64_t>(1, std::llround(options.fps)));
  std::vector<camera::Pose> before, after;
  for (size_t i = 0; i < end; i += std::max<size_t>(1, second / 4)) before.push_back(poses[i]);
  for (size_t i = end; i < poses.size(); i += second) after.push_back(poses[i]);
  m.tour = measure_coverage(trajectory.scene, before, after, format);
}

PathSurvey::Spread spread(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
  };
  return {at(0.5), at(0.95), values.back()};
}

PathSurvey::Pictures summarise_pictures(const std::vector<Measured>& all) {
  PathSurvey::Pictures pictures;
  std::vector<double> motions;
  PathSurvey::Pictures::Tour tour;
  double tours = 0;
  for (const Measured& m : all) {
    motions.insert(motions.end(), m.motions.begin(), m.motions.end());
    if (!m.tour) continue;
    ++tours;
    tour.shown += m.tour->shown;
    tour.sharp += m.tour->sharp;
    tour.least_shown = std::min(tour.least_shown, m.tour->shown);
  }
  pictures.motion = spread(std::move(motions));
  if (tours > 0) pictures.tour = {tour.shown / tours, tour.sharp / tours, tour.least_shown};
  return pictures;
}

}  // namespace

PathSurvey survey_paths(uint64_t seed, int64_t paths, const ClipOptions& options, int workers,
                        bool pictures) {
  if (paths < 1) fail("{} paths; there must be at least one", paths);
  if (pictures && options.xi > 0) fail("pictures can be measured only with a pinhole lens (xi 0)");
  std::vector<Measured> all(static_cast<size_t>(paths));
  const int64_t group = options.clips_per_scene;
  {
    Progress progress("paths", all.size(), "paths");
    run_jobs(static_cast<size_t>((paths + group - 1) / group), workers, [&] {
      return [&, maker = std::make_shared<ClipMaker>(options)](size_t job) {
        const int64_t first = static_cast<int64_t>(job) * group;
        for (int64_t i = first; i < std::min(first + group, paths); ++i) {
          const ClipMaker::PlannedTrajectory trajectory = maker->plan_trajectory(seed, i);
          Measured& m = all[static_cast<size_t>(i)];
          m = measure(trajectory, options.fps);
          if (pictures) measure_pictures(m, trajectory, options);
          progress.advance();
        }
      };
    });
  }
  PathSurvey survey;
  survey.paths = paths;
  survey.seconds = static_cast<double>(options.frames - 1) / options.fps;
  survey.nearest = std::numeric_limits<double>::infinity();
  std::vector<double> speeds, turn_rates;
  int64_t still = 0, steps = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const Measured& m = all[i];
    survey.planned += plan_clip(seed, static_cast<int64_t>(i), options).returns ? 1 : 0;
    bool any = false;
    for (size_t gap = 0; gap < kRevisitGaps.size(); ++gap) {
      survey.frames_by_gap[gap] += m.frames_by_gap[gap];
      survey.paths_by_gap[gap] += m.frames_by_gap[gap] > 0 ? 1 : 0;
      any = any || m.frames_by_gap[gap] > 0;
    }
    survey.with_revisits += any ? 1 : 0;
    survey.metres += m.metres / static_cast<double>(paths);
    survey.degrees += m.degrees / static_cast<double>(paths);
    survey.nearest = std::min(survey.nearest, m.nearest);
    survey.collisions += m.nearest < FreeSpace::kMargin ? 1 : 0;
    speeds.insert(speeds.end(), m.speeds.begin(), m.speeds.end());
    turn_rates.insert(turn_rates.end(), m.turn_rates.begin(), m.turn_rates.end());
    still += m.still;
    steps += m.steps;
  }
  survey.speed = spread(std::move(speeds));
  survey.turn_rate = spread(std::move(turn_rates));
  if (pictures) survey.pictures = summarise_pictures(all);
  survey.still = steps > 0 ? static_cast<double>(still) / static_cast<double>(steps) : 1;
  return survey;
}

Json to_json(const PathSurvey& survey) {
  const auto spread_json = [](const PathSurvey::Spread& s) {
    return Json{{"median", s.median}, {"p95", s.p95}, {"highest", s.highest}};
  };
  Json gaps = Json::array();
  for (size_t i = 0; i < kRevisitGaps.size(); ++i) {
    const bool last = i + 1 == kRevisitGaps.size();
    gaps.push_back({{"from", kRevisitGaps[i]},
                    {"to", last ? Json(nullptr) : Json(kRevisitGaps[i + 1])},
                    {"paths", survey.paths_by_gap[i]},
                    {"frames", survey.frames_by_gap[i]}});
  }
  Json json = {
      {"paths", survey.paths},
      {"seconds", survey.seconds},
      {"planned_to_return", survey.planned},
      {"with_revisits", survey.with_revisits},
      {"revisits_by_gap_s", gaps},
      {"metres_a_path", survey.metres},
      {"degrees_a_path", survey.degrees},
      {"speed_m_s", spread_json(survey.speed)},
      {"turn_rate_deg_s", spread_json(survey.turn_rate)},
      {"still_share", survey.still},
      {"nearest_obstacle_m", survey.nearest},
      {"collisions", survey.collisions},
  };
  if (survey.pictures) {
    json["motion_px_a_latent"] = spread_json(survey.pictures->motion);
    if (const auto& tour = survey.pictures->tour) {
      json["tour"] = {{"shown", tour->shown},
                      {"shown_at_half_resolution", tour->sharp},
                      {"least_shown", tour->least_shown}};
    }
  }
  return json;
}

}  // namespace loci::world
