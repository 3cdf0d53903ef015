// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/packed_linear_loops.h"
#include "loci/kernels/packed_linear_tiles.h"

namespace loci::kernels::packed_linear_kernels {

namespace {

// Eight tiles of 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  uint8_t palette, start_row, reserved[14];
  uint16_t bytes[16];
  uint8_t rows[16];
};
constexpr TileConfig kTiles = {.palette = 1,
                               .start_row = 0,
                               .reserved = {},
                               .bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                               .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
static_assert(sizeof kTiles == 64);

// Written as assembly: the compiler's own names for these instructions take no template parameters.
struct AmxTiles {
  static void begin() { __asm__ volatile("ldtilecfg %0" : : "m"(kTiles)); }
  static void end() { __asm__ volatile("tilerelease"); }

  template <int kTile>
  static void zero() {
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  template <int kTile>
  static void load(const int8_t* from, int64_t step) {
    __asm__ volatile("tileloadd (%1,%2,1), %%tmm%c0"
                     :
                     : "i"(kTile), "r"(from), "r"(step)
                     : "memory");
  }
  template <int kTile>
  static void store(int32_t* to, int64_t step) {
    __asm__ volatile("tilestored %%tmm%c0, (%1,%2,1)"
                     :
                     : "i"(kTile), "r"(to), "r"(step)
                     : "memory");
  }
  template <int kSum, int kLeft, int kRight>
  static void dot() {
    __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kLeft), "i"(kRight));
  }
};

}  // namespace

Kernels amx() { return kernels_of<FloatLoops<16, 2, 12>, TileLoops<AmxTiles>>(); }

}  // namespace loci::kernels::packed_linear_kernels
