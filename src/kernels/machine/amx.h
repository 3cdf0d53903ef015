// SPDX-License-Identifier: Apache-2.0
// The instructions of AMX: tiles of 16 rows of 64 bytes. Processors with AMX also have AVX512-BF16.
// For files that are compiled for both.
#pragma once

#include <cstdint>

#include "loci/kernels/machine/avx512_bf16.h"

namespace loci::kernels {

namespace {

// Inline assembly, because GCC 12 provides tile instructions as macros that accept literal digits
// only and does not know that they access memory.
struct Amx : Avx512Bf16 {
  // Configures all eight tiles in full size for this thread during its lifetime. cpu_features()
  // requests the permission for the process.
  class Tiles {
   public:
    Tiles() {
      alignas(64) uint8_t shape[64] = {1};  // palette 1
      for (int tile = 0; tile < 8; ++tile) {
        shape[16 + 2 * tile] = 64;  // bytes per row
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
  // Groups of four signed bytes, summed in INT32.
  template <int kSums, int kA, int kB>
  static void dot_bytes() {
    __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kA), "i"(kB));
  }
};

}  // namespace

}  // namespace loci::kernels
