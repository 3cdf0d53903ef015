// SPDX-License-Identifier: Apache-2.0
// Tiles of 16 rows of 64 bytes, and the vectors of every processor that has them. For files
// compiled for both.
#pragma once

#include <cstdint>

#include "loci/kernels/machine/machine_avx512_bf16.h"

namespace loci::kernels {

namespace {

// Written as assembly: GCC 12 has the tile instructions as macros that take digits alone, and does
// not know that they read and write memory.
struct Amx : Avx512Bf16 {
  // All eight tiles in their full size, for this thread, as long as this lives. The permission of
  // the process is cpu_features()'s to ask for.
  class Tiles {
   public:
    Tiles() {
      alignas(64) uint8_t shape[64] = {1};  // the first palette
      for (int tile = 0; tile < 8; ++tile) {
        shape[16 + 2 * tile] = 64;  // bytes of a row
        shape[48 + tile] = 16;      // rows
      }
      __asm__ volatile("ldtilecfg %0" : : "m"(shape));
    }
    ~Tiles() { __asm__ volatile("tilerelease" : : : "memory"); }
    Tiles(const Tiles&) = delete;
    Tiles& operator=(const Tiles&) = delete;
  };

  template <int kTile>
  static void zero() {
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  template <int kTile>
  static void load(const void* from, int64_t stride) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2"
                     :
                     : "r"(from), "r"(stride), "i"(kTile)
                     : "memory");
  }
  template <int kTile>
  static void store(void* to, int64_t stride) {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)"
                     :
                     : "r"(to), "r"(stride), "i"(kTile)
                     : "memory");
  }
  using Avx512Bf16::dot;
  template <int kSums, int kA, int kB>
  static void dot() {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kA), "i"(kB));
  }
  // Signed bytes in quadruples, sums in INT32.
  template <int kSums, int kA, int kB>
  static void dot_bytes() {
    __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kA), "i"(kB));
  }
};

}  // namespace

}  // namespace loci::kernels
