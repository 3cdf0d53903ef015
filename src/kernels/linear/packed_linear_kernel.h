// SPDX-License-Identifier: Apache-2.0
// The interface of the PackedLinear loops, see machine/kernel_table.h.
#pragma once

#include <cstdint>

namespace loci::kernels::packed_linear_kernels {

// Output channels of one panel. All instruction sets use the same layout:
//   BF16  [panels][in][kPanel]
//   INT8  [panels][byte_inputs(in) / 4][kPanel][4]
//   INT4  [panels][in][kPanel / 2]: a byte holds channel c in its low half and channel
//         c + kPanel / 2 in its high half, both plus 8
// The last panel and the last inputs are padded with zeros.
inline constexpr int64_t kPanel = 32;
// INT8 inputs are padded to the widest tile.
inline constexpr int64_t kByteStep = 64;
constexpr int64_t byte_inputs(int64_t in) { return (in + kByteStep - 1) / kByteStep * kByteStep; }
// Number of inputs that share one scale of INT4 weights.
inline constexpr int64_t kGroup = 64;
// Rows that share one conversion of weights to FP32; a multiple of the height of every tile.
inline constexpr int64_t kRowBlock = 192;
// INT8 rows are allocated, but not initialized, up to the height of the highest tile.
inline constexpr int64_t kRowStep = 32;
// Inputs of one panel whose weights are in use at a time: 16 KB, half of an L1 cache.
inline constexpr int64_t kFloatDepth = 128, kByteDepth = 256;
static_assert(kFloatDepth % kGroup == 0);

enum class Weights : int { kBfloat16, kInt8, kInt4 };

// Applied to the products y of a row: y + bias, then GELU, then residual + gate * (y + addend).
struct Epilogue {
  const float* bias;      // [out]; may be null
  const void* addend;     // [rows, out]; may be null
  bool addend_bfloat16;   // otherwise FP32
  const float* residual;  // [rows, out]; may be null
  const float* gate;      // [rows / gate_rows, out]; null: 1
  int64_t gate_rows;      // rows that share a gate
  bool gelu;
};

// Rows [first_row, last_row) times panels [first_panel, last_panel).
struct Work {
  Weights format;
  const void* weights;
  const float* scale;         // INT8: [panels * kPanel]; INT4: [panels, groups, kPanel]
  const int32_t* column_sum;  // INT8: sums of the weights of each channel, [panels * kPanel]
  int64_t in, out;
  const void* x;           // FP32 [rows, in], or the output of quantize_rows()
  const float* row_scale;  // INT8: [rows]
  Epilogue epilogue;
  void* y;                      // [rows, out]
  bool bfloat16;                // whether y is BF16, otherwise FP32
  int64_t first_row, last_row;  // at most kRowBlock of them
  int64_t first_panel, last_panel;
  float* scratch;  // scratch_size(panels)
};

// Scratch memory of one call of multiply(), in floats.
constexpr int64_t scratch_size(int64_t panels) {
  return kRowBlock * panels * kPanel + kFloatDepth * kPanel;
}

// Rows [first, last) of x, FP32 or BF16 [rows, in].
struct RowWork {
  const void* x;
  bool bfloat16;
  int64_t in, first, last;
  float* wide;  // output of widen_rows(): FP32 [rows, in]
  // Output of quantize_rows(): integers within +-127, [rows, byte_inputs(in)], in the order and
  // type of the kernel.
  void* numbers;
  // Output of quantize_rows(), [rows]: x = scale * number. NaN for a row that is not finite.
  float* scale;
};

// BF16 and INT4 weights, which are multiplied in FP32.
struct WideKernels {
  void (*widen_rows)(const RowWork&);  // BF16 to FP32
  void (*multiply)(const Work&);
};

// INT8 weights.
struct Int8Kernels {
  int64_t number_bytes;                   // size of a number that quantize_rows() writes: 1 or 2
  void (*quantize_rows)(const RowWork&);  // to INT8, each row scaled by its largest magnitude
  void (*multiply)(const Work&);
};

struct Kernels {
  WideKernels wide;
  Int8Kernels int8;
};

}  // namespace loci::kernels::packed_linear_kernels
