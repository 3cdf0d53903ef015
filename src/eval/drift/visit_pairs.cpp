// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/drift/visit_pairs.h"

#include <ATen/ATen.h>

#include "loci/base/interrupt.h"
#include "loci/eval/metrics/masked_error.h"
#include "loci/eval/metrics/view_warp.h"

namespace loci::eval {

VisitPairs::VisitPairs(const EvalClips& clips, size_t clip, const Networks& networks)
    : clip_(&clips.clip(clip)), networks_(&networks) {
  const std::vector<camera::Pose> poses = camera::poses_of(clip_->trajectory.cameras);
  for (const camera::Revisit& revisit : clip_->revisits) {
    if (revisit.earlier < clip_->context_frames) continue;
    const int64_t earlier = camera::closest_of_first_visit(poses, revisit);
    earlier_[revisit.frame] = earlier;
    first_visits_[earlier];
  }
}

void VisitPairs::add(int64_t first, const at::Tensor& generated, const at::Tensor& recorded) {
  for (int64_t i = 0; i < generated.size(0); ++i) {
    const Frames now{generated[i], recorded[i]};
    if (const auto found = first_visits_.find(first + i); found != first_visits_.end()) {
      found->second = {now.generated.clone(), now.recorded.clone()};
    }
    if (const auto found = earlier_.find(first + i); found != earlier_.end()) {
      check_interrupt();
      compare(found->second, first_visits_.at(found->second), found->first, now);
    }
  }
}

void VisitPairs::compare(int64_t earlier, const Frames& then, int64_t frame, const Frames& now) {
  const std::vector<camera::Camera>& cameras = clip_->trajectory.cameras;
  // Without depth: what the model invented need not have the recorded depth.
  const ViewWarp warp = view_warp({cameras[static_cast<size_t>(frame)], {}},
                                  {cameras[static_cast<size_t>(earlier)], {}},
                                  {now.generated.size(0), now.generated.size(1)});
  const auto add = [&](const at::Tensor& before, const at::Tensor& after, const char* suffix) {
    // Outside of the region both pictures are equal, so that no edge appears at its border.
    const at::Tensor moved = resample(before.to(at::kFloat), warp).round().clamp(0, 255);
    const at::Tensor filled =
        at::where(warp.valid.unsqueeze(-1), moved.to(at::kByte), after).unsqueeze(0);
    const MaskedError error = masked_error(after.unsqueeze(0), filled, warp.valid,
                                           networks_->alex ? &*networks_->alex : nullptr);
    if (error.region == 0) return;
    values_[std::string("psnr_visits") + suffix].push_back(error.psnr);
    if (networks_->alex) {
      values_[std::string("lpips_visits") + suffix].push_back(error.lpips);
    }
  };
  add(then.generated, now.generated, "");
  add(then.recorded, now.recorded, "_recorded");
}

}  // namespace loci::eval
