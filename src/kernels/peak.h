// SPDX-License-Identifier: Apache-2.0
// What the processor could do at most: multiplications and additions on registers alone.
#pragma once

#include <cstdint>

namespace loci::kernels {

namespace peak_kernels {
// `rounds` steps of as many independent sums as hide the latency; gives the operations done, each
// multiplication and addition one. `sink` keeps the work from being left out.
double plain(int64_t rounds, float* sink);
double avx2(int64_t rounds, float* sink);
double avx512(int64_t rounds, float* sink);
}  // namespace peak_kernels

// FP32 operations a second of processor time of the calling thread, at the current level, measured
// for about `seconds`.
double measure_peak(double seconds);

}  // namespace loci::kernels
