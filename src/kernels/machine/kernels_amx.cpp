// SPDX-License-Identifier: Apache-2.0
// Kernels for AMX: products of matrix tiles in BF16 and INT8.
#include "loci/kernels/attention/attention_pair_loops.h"
#include "loci/kernels/linear/packed_linear_tiles.h"
#include "loci/kernels/machine/amx.h"
#include "loci/kernels/machine/kernel_table.h"
#include "loci/kernels/machine/peak_loops.h"

namespace loci::kernels {

namespace {

struct PeakPairTiles : Amx {
  template <int kSums, int kA, int kB>
  static void multiply() {
    dot<kSums, kA, kB>();
  }
};
struct PeakByteTiles : Amx {
  template <int kSums, int kA, int kB>
  static void multiply() {
    dot_bytes<kSums, kA, kB>();
  }
};

}  // namespace

void add_amx_bf16_kernels(KernelTable& table) {
  using Products = attention_kernels::TileProducts<Amx>;
  table.attention.bf16 = {attention_kernels::PairLoops<Amx, Products>::attend,
                          attention_kernels::PanelLayout::kPairs};
  table.peak.bf16 = peak_kernels::tile_products<PeakPairTiles, 2>;
}

void add_amx_int8_kernels(KernelTable& table) {
  table.packed_linear.int8 = packed_linear_kernels::TileLoops<Amx>::kKernels;
  table.peak.int8 = peak_kernels::tile_products<PeakByteTiles, 4>;
}

}  // namespace loci::kernels
