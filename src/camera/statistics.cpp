// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/statistics.h"

#include <algorithm>

#include "loci/camera/lens.h"
#include "loci/camera/path/resample.h"

namespace loci::camera {

PathStatistics path_statistics(const Trajectory& trajectory) {
  const std::vector<Pose> poses = poses_of(trajectory.cameras);
  PathStatistics s;
  s.poses = static_cast<int64_t>(poses.size());
  if (poses.empty()) return s;
  s.video_frames =
      TimeGrid{.frames_per_latent = trajectory.frames_per_pose}.frames_in_latents(s.poses);
  s.seconds = trajectory.seconds();
  s.displacement = norm(poses.back().position - poses.front().position);
  for (size_t i = 1; i < poses.size(); ++i) {
    s.distance += norm(poses[i].position - poses[i - 1].position);
    s.turn += angle_between(poses[i - 1].rotation, poses[i].rotation);
  }

  // Poses from one latent to the next. A shorter path counts as one step, scaled up.
  const size_t per_latent = std::max(1, kFramesPerLatent / trajectory.frames_per_pose);
  const size_t window = std::min(per_latent, poses.size() - 1);
  for (size_t i = window; window > 0 && i < poses.size(); ++i) {
    const double scale = static_cast<double>(per_latent) / static_cast<double>(window);
    const Pose& before = poses[i - window];
    s.max_step = std::max(s.max_step, scale * norm(poses[i].position - before.position));
    s.max_step_turn =
        std::max(s.max_step_turn, scale * angle_between(before.rotation, poses[i].rotation));
  }
  const double latents_a_second = trajectory.fps / static_cast<double>(per_latent);
  s.max_speed = s.max_step * latents_a_second;
  s.max_turn_rate = s.max_step_turn * latents_a_second;

  const auto [narrow, wide] = std::minmax_element(
      trajectory.cameras.begin(), trajectory.cameras.end(),
      [](const Camera& a, const Camera& b) { return a.lens.fov_x < b.lens.fov_x; });
  s.min_fov = narrow->lens.fov_x;
  s.max_fov = wide->lens.fov_x;
  s.revisits = find_revisits(poses, trajectory.fps);
  return s;
}

Json to_json(const PathStatistics& s) {
  Json revisits = Json::array();
  for (const Revisit& revisit : s.revisits) {
    revisits.push_back(
        {{"pose", revisit.frame}, {"earlier", revisit.earlier}, {"gap_seconds", revisit.gap}});
  }
  return {{"poses", s.poses},
          {"video_frames", s.video_frames},
          {"seconds", s.seconds},
          {"distance_m", s.distance},
          {"displacement_m", s.displacement},
          {"turn_deg", degrees(s.turn)},
          {"max_speed_m_per_s", s.max_speed},
          {"max_turn_deg_per_s", degrees(s.max_turn_rate)},
          {"max_step_m_per_latent", s.max_step},
          {"max_step_deg_per_latent", degrees(s.max_step_turn)},
          {"within_trained_motion", !s.too_fast() && !s.turns_too_fast()},
          {"x_fov_deg", {degrees(s.min_fov), degrees(s.max_fov)}},
          {"revisits", std::move(revisits)}};
}

}  // namespace loci::camera
