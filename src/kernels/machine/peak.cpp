// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/machine/peak.h"

#include <algorithm>
#include <ctime>
#include <vector>

#include "loci/kernels/machine/cpu_features.h"

namespace loci::kernels {

namespace {

using Loop = double (*)(int64_t rounds, float* sink);

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Loop loop_of(Arithmetic arithmetic) {
#if defined(__x86_64__)
  const IsaLevel level = isa_level();
  switch (arithmetic) {
    case Arithmetic::kFloat:
      if (level >= IsaLevel::kAvx512) return peak_kernels::avx512;
      if (level >= IsaLevel::kAvx2) return peak_kernels::avx2;
      break;
    case Arithmetic::kBfloat16:
      if (level >= IsaLevel::kAmx) return peak_kernels::amx_bf16;
      if (level >= IsaLevel::kAvx512Bf16) return peak_kernels::avx512_bf16;
      break;
    case Arithmetic::kInt8:
      if (level >= IsaLevel::kAmx && cpu_features().amx_int8) return peak_kernels::amx_int8;
      if (level >= IsaLevel::kAvx512 && cpu_features().avx512_vnni) {
        return peak_kernels::avx512_vnni;
      }
      break;
  }
#endif
  return arithmetic == Arithmetic::kFloat ? peak_kernels::plain : nullptr;
}

}  // namespace

std::string_view name_of(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::kFloat:
      return "FP32";
    case Arithmetic::kBfloat16:
      return "BF16";
    case Arithmetic::kInt8:
      return "INT8";
  }
  return "FP32";
}

std::optional<double> measure_peak(Arithmetic arithmetic, double seconds) {
  const Loop loop = loop_of(arithmetic);
  if (loop == nullptr) return std::nullopt;
  float sink = 0;
  std::vector<double> rates;
  const double begun = thread_seconds();
  while (rates.empty() || thread_seconds() - begun < seconds) {
    const double start = thread_seconds();
    const double operations = loop(500'000, &sink);
    rates.push_back(operations / (thread_seconds() - start));
  }
  // Short runs, of which the upper quartile counts: others shared a core's units or caches, and on
  // a virtual machine a processor's time is now and then told too short, at a rate no core has.
  const auto quartile = rates.begin() + std::ssize(rates) * 3 / 4;
  std::nth_element(rates.begin(), quartile, rates.end());
  return sink == 1.0F ? *quartile + 1 : *quartile;  // the sums are used, whatever they are
}

}  // namespace loci::kernels
