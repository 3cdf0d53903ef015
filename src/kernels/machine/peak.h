// SPDX-License-Identifier: Apache-2.0
// The peak rate of the processor: multiplications and additions on registers only.
#pragma once

#include <optional>
#include <string_view>

namespace loci::kernels {

// Type of the factors. Sums are FP32, for INT8 they are INT32.
enum class Arithmetic { kFloat, kBfloat16, kInt8 };

// "FP32", "BF16", "INT8".
std::string_view name_of(Arithmetic arithmetic);

// Operations per second of CPU time of the calling thread at the level in use, measured for about
// `seconds`. nullopt if the level has no instructions for `arithmetic`; FP32 is always available.
std::optional<double> measure_peak(Arithmetic arithmetic, double seconds);

}  // namespace loci::kernels
