// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/machine/machine_avx512_bf16.h"
#include "loci/kernels/machine/peak_loops.h"

namespace loci::kernels::peak_kernels {

namespace {
struct Pairs : Avx512Bf16 {
  using Sum = float;
  using Sums = Avx512Bf16::Floats;
  using Factors = Avx512Bf16::Pairs;
};
}  // namespace

double avx512_bf16(int64_t rounds, float* sink) { return dot_products<Pairs, 24, 2>(rounds, sink); }

}  // namespace loci::kernels::peak_kernels
