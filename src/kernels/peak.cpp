// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/peak.h"

#include <ctime>

#include "loci/kernels/cpu_features.h"

namespace loci::kernels {

namespace {

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double run(int64_t rounds, float* sink) {
#if defined(__x86_64__)
  if (isa_level() >= IsaLevel::kAvx512) return peak_kernels::avx512(rounds, sink);
  if (isa_level() >= IsaLevel::kAvx2) return peak_kernels::avx2(rounds, sink);
#endif
  return peak_kernels::plain(rounds, sink);
}

}  // namespace

double measure_peak(double seconds) {
  float sink = 0;
  double best = 0;
  const double begun = thread_seconds();
  // Short runs, of which the best counts: other programs take turns with this one.
  while (thread_seconds() - begun < seconds) {
    const double start = thread_seconds();
    const double operations = run(2'000'000, &sink);
    const double rate = operations / (thread_seconds() - start);
    if (rate > best) best = rate;
  }
  return sink == 1.0F ? best + 1 : best;  // the sums are used, whatever they are
}

}  // namespace loci::kernels
