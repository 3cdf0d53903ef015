// SPDX-License-Identifier: Apache-2.0
// INT8 rows times INT8 weights with eight tile registers of 16 rows and 64 bytes. Compiled for AMX,
// and for emulated tiles in the tests.
#pragma once

#include <cstdint>

#include "loci/kernels/linear/packed_linear_kernel.h"
#include "loci/kernels/linear/packed_linear_rows.h"

namespace loci::kernels::packed_linear_kernels {
namespace {

// A Machine has, for tiles T of 16 rows of 64 bytes,
//   Tiles                             enables the tiles of this thread during its lifetime
//   load<T>(from, step), store<T>     rows are `step` bytes apart
//   zero<T>()
//   dot_bytes<C, A, B>()              INT32 C[m][n] += sum over k, i of A[m][4 k + i] B[k][4 n + i]
//                                     with signed bytes
template <typename Machine>
struct TileLoops : RowLoops<16> {
  using Number = int8_t;
  static constexpr int64_t kHeight = 16, kWidth = 64;
  static_assert(kRowStep == 2 * kHeight && kByteStep == kWidth && kPanel == 32);

  static void quantize_rows(const RowWork& work) { RowLoops<16>::quantize_rows<Number>(work); }

  // Two tiles of rows times the two halves of a panel: four tiles of sums.
  static void multiply(const Work& work) {
    const int64_t in = byte_inputs(work.in);
    const auto* x = static_cast<const int8_t*>(work.x);
    auto* sums = reinterpret_cast<int32_t*>(work.scratch);  // [kRowStep][kPanel]
    constexpr int64_t kSumStep = kPanel * 4, kPanelStep = kPanel * 4;
    const typename Machine::Tiles tiles;
    for (int64_t panel = work.first_panel; panel < work.last_panel; ++panel) {
      const int8_t* weights = static_cast<const int8_t*>(work.weights) + panel * in * kPanel;
      for (int64_t row = work.first_row; row < work.last_row; row += kRowStep) {
        Machine::template zero<0>();
        Machine::template zero<1>();
        Machine::template zero<2>();
        Machine::template zero<3>();
        for (int64_t k = 0; k < in; k += kWidth) {
          Machine::template load<4>(x + row * in + k, in);
          Machine::template load<5>(x + (row + kHeight) * in + k, in);
          Machine::template load<6>(weights + k * kPanel, kPanelStep);
          Machine::template load<7>(weights + k * kPanel + kWidth, kPanelStep);
          Machine::template dot_bytes<0, 4, 6>();
          Machine::template dot_bytes<1, 4, 7>();
          Machine::template dot_bytes<2, 5, 6>();
          Machine::template dot_bytes<3, 5, 7>();
        }
        Machine::template store<0>(sums, kSumStep);
        Machine::template store<1>(sums + kPanel / 2, kSumStep);
        Machine::template store<2>(sums + kHeight * kPanel, kSumStep);
        Machine::template store<3>(sums + kHeight * kPanel + kPanel / 2, kSumStep);
        for (int64_t r = 0; r < kRowStep && row + r < work.last_row; ++r) {
          finish_whole(work, row + r, panel, sums + r * kPanel, 0);
        }
      }
    }
  }

  static constexpr Int8Kernels kKernels = {sizeof(Number), quantize_rows, multiply};
};

}  // namespace
}  // namespace loci::kernels::packed_linear_kernels
