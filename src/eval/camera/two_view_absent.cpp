// SPDX-License-Identifier: Apache-2.0
#include "loci/base/error.h"
#include "loci/eval/camera/two_view.h"

namespace loci::eval {

bool two_view_available() { return false; }

std::optional<TwoView> two_view_motion(const at::Tensor&, const at::Tensor&,
                                       const camera::Pinhole&) {
  fail_machine(
      "loci eval camera needs OpenCV, which this build does not have; install "
      "libopencv-calib3d-dev and build again");
}

std::optional<camera::Pose> metric_motion(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                          const camera::Pinhole&) {
  two_view_motion({}, {}, {});
  return std::nullopt;
}

}  // namespace loci::eval
