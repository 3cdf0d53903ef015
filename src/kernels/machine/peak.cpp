// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/machine/peak.h"

#include <algorithm>
#include <ctime>
#include <vector>

#include "loci/kernels/machine/kernel_table.h"

namespace loci::kernels {

namespace {

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Null when the level in use has no instructions for it.
peak_kernels::Loop* loop_of(Arithmetic arithmetic) {
  const peak_kernels::Kernels& kernels = kernel_table().peak;
  switch (arithmetic) {
    case Arithmetic::kFloat:
      return kernels.fp32;
    case Arithmetic::kBfloat16:
      return kernels.bf16;
    case Arithmetic::kInt8:
      return kernels.int8;
  }
  return nullptr;
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
  peak_kernels::Loop* const loop = loop_of(arithmetic);
  if (loop == nullptr) return std::nullopt;
  float sink = 0;
  std::vector<double> rates;
  const double begun = thread_seconds();
  while (rates.empty() || thread_seconds() - begun < seconds) {
    const double start = thread_seconds();
    const double operations = loop(500'000, &sink);
    rates.push_back(operations / (thread_seconds() - start));
  }
  // The upper quartile of short runs: slower runs shared the core or its caches with other work,
  // and a virtual machine sometimes reports too little CPU time, which gives impossibly high rates.
  const auto quartile = rates.begin() + std::ssize(rates) * 3 / 4;
  std::nth_element(rates.begin(), quartile, rates.end());
  return sink == 1.0F ? *quartile + 1
                      : *quartile;  // uses `sink`, so that the loops are not removed
}

}  // namespace loci::kernels
