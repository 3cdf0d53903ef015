// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/machine/machine_amx.h"
#include "loci/kernels/machine/peak_loops.h"

namespace loci::kernels::peak_kernels {

namespace {
struct PairTiles : Amx {
  template <int kSums, int kA, int kB>
  static void multiply() {
    dot<kSums, kA, kB>();
  }
};
struct ByteTiles : Amx {
  template <int kSums, int kA, int kB>
  static void multiply() {
    dot_bytes<kSums, kA, kB>();
  }
};
}  // namespace

double amx_bf16(int64_t rounds, float* sink) { return tile_products<PairTiles, 2>(rounds, sink); }
double amx_int8(int64_t rounds, float* sink) { return tile_products<ByteTiles, 4>(rounds, sink); }

}  // namespace loci::kernels::peak_kernels
