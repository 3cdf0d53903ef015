// SPDX-License-Identifier: Apache-2.0
// The loops behind measure_peak().
#pragma once

#include <cstdint>

namespace loci::kernels::peak_kernels {

// Runs `rounds` steps of as many independent sums as hide the latency. Returns the number of
// operations; a multiplication and an addition count as one each. The result is added to `sink`, so
// that the compiler cannot remove the work.
using Loop = double(int64_t rounds, float* sink);

struct Kernels {
  Loop* fp32;
  Loop* bf16;  // null without instructions for BF16
  Loop* int8;  // null without instructions for INT8
};

}  // namespace loci::kernels::peak_kernels
