// SPDX-License-Identifier: Apache-2.0
// What the processor could do at most: multiplications and additions on registers alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace loci::kernels {

namespace peak_kernels {
// `rounds` steps of as many independent sums as hide the latency; gives the operations done, each
// multiplication and addition one. `sink` keeps the work from being left out.
double plain(int64_t rounds, float* sink);
double avx2(int64_t rounds, float* sink);
double avx512(int64_t rounds, float* sink);
double avx512_bf16(int64_t rounds, float* sink);
double avx512_vnni(int64_t rounds, float* sink);
double amx_bf16(int64_t rounds, float* sink);
double amx_int8(int64_t rounds, float* sink);
}  // namespace peak_kernels

// Numbers that are multiplied; sums are FP32, of INT8 INT32.
enum class Arithmetic { kFloat, kBfloat16, kInt8 };

// "FP32", "BF16", "INT8".
std::string_view name_of(Arithmetic arithmetic);

// Operations a second of processor time of the calling thread, at the current level, measured for
// about `seconds`; none where the level has no instructions for them. FP32 it always has.
std::optional<double> measure_peak(Arithmetic arithmetic, double seconds);

}  // namespace loci::kernels
