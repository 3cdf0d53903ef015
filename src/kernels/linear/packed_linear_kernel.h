// SPDX-License-Identifier: Apache-2.0
// The loops behind PackedLinear, one set per instruction set. Nothing here comes from a library: a
// function of its headers, compiled for one instruction set, could end up serving the whole
// program.
#pragma once

#include <cstdint>

namespace loci::kernels::packed_linear_kernels {

// Output channels that stand together. One layout serves all instruction sets:
//   BF16  [panels][in][kPanel]
//   INT8  [panels][byte_inputs(in) / 4][kPanel][4]
//   INT4  [panels][in][kPanel / 2]: channel c below, channel c + kPanel / 2 above, both plus 8
// What fills up the last panel and the last inputs is zero.
inline constexpr int64_t kPanel = 32;
// INT8 inputs come in steps of the widest tile.
inline constexpr int64_t kByteStep = 64;
constexpr int64_t byte_inputs(int64_t in) { return (in + kByteStep - 1) / kByteStep * kByteStep; }
// Inputs of one scale of INT4 weights.
inline constexpr int64_t kGroup = 64;
// Rows that share one widening of weights; a multiple of every tile's height.
inline constexpr int64_t kRowBlock = 192;
// INT8 rows are allocated, not filled, up to the highest tile.
inline constexpr int64_t kRowStep = 32;
// Inputs whose weights, of one panel, are in use at a time: 16 KB, half of a first cache.
inline constexpr int64_t kFloatDepth = 128, kByteDepth = 256;
static_assert(kFloatDepth % kGroup == 0);

enum class Weights : int { kBfloat16, kInt8, kInt4 };

// What becomes of the products y of a row: y + bias, then GELU, then
// residual + gate * (y + addend).
struct Epilogue {
  const float* bias;      // [out]; null without
  const void* addend;     // [rows, out]; null without
  bool addend_bfloat16;   // otherwise FP32
  const float* residual;  // [rows, out]; null without
  const float* gate;      // [rows / gate_rows, out]; null for 1
  int64_t gate_rows;      // rows of one gate
  bool gelu;
};

// Rows [first_row, last_row) times panels [first_panel, last_panel).
struct Work {
  Weights format;
  const void* weights;
  const float* scale;         // INT8: [panels * kPanel]; INT4: [panels, groups, kPanel]
  const int32_t* column_sum;  // INT8: of the weights of a channel, [panels * kPanel]
  int64_t in, out;
  const void* x;           // FP32 [rows, in], or what quantize_rows() wrote
  const float* row_scale;  // INT8: [rows]
  Epilogue epilogue;
  void* y;                      // [rows, out]
  bool bfloat16;                // whether y is BF16, otherwise FP32
  int64_t first_row, last_row;  // at most kRowBlock of them
  int64_t first_panel, last_panel;
  float* scratch;  // scratch_size(panels)
};

// Floats that one call of multiply() needs beside its data.
constexpr int64_t scratch_size(int64_t panels) {
  return kRowBlock * panels * kPanel + kFloatDepth * kPanel;
}

// Rows [first, last) of x, FP32 or BF16 [rows, in].
struct RowWork {
  const void* x;
  bool bfloat16;
  int64_t in, first, last;
  float* wide;    // FP32 [rows, in], or
  void* numbers;  // [rows, byte_inputs(in)] whole numbers within 127, in the kernel's own order
                  // and type, and
  float* scale;   // [rows]: x = scale * number; NaN for a row that is not finite
};

struct Kernels {
  int64_t number_bytes;                   // of what quantize_rows() writes: 1 or 2
  void (*widen_rows)(const RowWork&);     // BF16 to FP32
  void (*quantize_rows)(const RowWork&);  // to INT8, each row by its largest number
  void (*multiply)(const Work&);
};

Kernels plain();
Kernels avx2();
Kernels avx512();
// avx512() with dot products of bytes, and with tiles of them.
Kernels avx512_vnni();
Kernels amx();

}  // namespace loci::kernels::packed_linear_kernels
