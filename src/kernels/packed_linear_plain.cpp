// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/packed_linear_loops.h"

namespace loci::kernels::packed_linear_kernels {

namespace {

struct PlainWords {
  static constexpr int kLanes = 4;
  static constexpr bool kUnsigned = false;
  using Ints = VectorOf<4>::Ints;
  using Number = int16_t;

  static Ints spread(const int16_t* two) {
    int32_t bits;
    __builtin_memcpy(&bits, two, sizeof bits);
    return Ints{} + bits;
  }
  static Ints dot(Ints sum, Ints a, Ints w) {
    return sum + (a << 16 >> 16) * (w << 16 >> 16) + (a >> 16) * (w >> 16);
  }
};

}  // namespace

Kernels plain() { return kernels_of<FloatLoops<4, 2, 4>, ByteLoops<PlainWords, 2, 4>>(); }

}  // namespace loci::kernels::packed_linear_kernels
