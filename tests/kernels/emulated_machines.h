// SPDX-License-Identifier: Apache-2.0
// Emulates processors with instructions for BF16 pairs and tiles: VDPBF16PS, VCVTNE2PS2BF16,
// TDPBF16PS, TDPBSSD and the tile registers, as documented by Intel. Loops for these instructions
// can thus be tested on hosts without them.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace loci::kernels::emulated {

// The instructions treat denormal operands and results as zero.
inline float flushed(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x;
}

inline float widened(uint16_t half) {
  const uint32_t bits = static_cast<uint32_t>(half) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return flushed(value);
}

// Rounds to nearest, ties to even; NaN becomes a quiet NaN.
inline uint16_t narrowed(float value) {
  value = flushed(value);
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  if (std::isinf(value)) return static_cast<uint16_t>(bits >> 16);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// The product is not rounded before it is added.
inline float multiplied_add(float a, float b, float sum) {
  return flushed(std::fma(a, b, flushed(sum)));
}

struct VectorMachine {
  using Floats = float __attribute__((vector_size(64)));
  using Pairs = short __attribute__((vector_size(64)));

  // Odd numbers are added before even ones.
  static Floats dot(Floats sum, Pairs a, Pairs b) {
    for (int i = 0; i < 16; ++i) {
      for (const int j : {2 * i + 1, 2 * i}) {
        sum[i] = multiplied_add(widened(static_cast<uint16_t>(a[j])),
                                widened(static_cast<uint16_t>(b[j])), sum[i]);
      }
    }
    return sum;
  }
  static Pairs narrow(Floats low, Floats high) {
    Pairs pairs;
    for (int i = 0; i < 16; ++i) {
      pairs[i] = static_cast<short>(narrowed(low[i]));
      pairs[i + 16] = static_cast<short>(narrowed(high[i]));
    }
    return pairs;
  }
};

struct TileMachine : VectorMachine {
  // Tile instructions fault unless such an object exists.
  class Tiles {
   public:
    Tiles() {
      if (configured) throw std::logic_error("tiles are already configured");
      configured = true;
      std::memset(tiles, 0xFF, sizeof tiles);  // NaN until loaded
    }
    ~Tiles() { configured = false; }
    Tiles(const Tiles&) = delete;
    Tiles& operator=(const Tiles&) = delete;
  };

  template <int kTile>
  static void zero() {
    std::memset(tile(kTile), 0, kBytes);
  }
  template <int kTile>
  static void load(const void* from, int64_t stride) {
    for (int row = 0; row < 16; ++row) {
      std::memcpy(tile(kTile) + 64 * row, static_cast<const char*>(from) + row * stride, 64);
    }
  }
  template <int kTile>
  static void store(void* to, int64_t stride) {
    for (int row = 0; row < 16; ++row) {
      std::memcpy(static_cast<char*>(to) + row * stride, tile(kTile) + 64 * row, 64);
    }
  }
  using VectorMachine::dot;
  // Products of even and of odd numbers are summed separately, starting from zero. The two sums are
  // added, then the result is added to the tile.
  template <int kSums, int kA, int kB>
  static void dot() {
    float sums[16][16];
    uint16_t a[16][32], b[16][32];
    std::memcpy(sums, tile(kSums), kBytes);
    std::memcpy(a, tile(kA), kBytes);
    std::memcpy(b, tile(kB), kBytes);
    for (int m = 0; m < 16; ++m) {
      for (int n = 0; n < 16; ++n) {
        float even = 0, odd = 0;
        for (int k = 0; k < 16; ++k) {
          even = multiplied_add(widened(a[m][2 * k]), widened(b[k][2 * n]), even);
          odd = multiplied_add(widened(a[m][2 * k + 1]), widened(b[k][2 * n + 1]), odd);
        }
        sums[m][n] = flushed(flushed(sums[m][n]) + flushed(even + odd));
      }
    }
    std::memcpy(tile(kSums), sums, kBytes);
  }
  // TDPBSSD: groups of four signed bytes.
  template <int kSums, int kA, int kB>
  static void dot_bytes() {
    int32_t sums[16][16];
    int8_t a[16][64], b[16][64];
    std::memcpy(sums, tile(kSums), kBytes);
    std::memcpy(a, tile(kA), kBytes);
    std::memcpy(b, tile(kB), kBytes);
    for (int m = 0; m < 16; ++m) {
      for (int k = 0; k < 16; ++k) {
        for (int n = 0; n < 64; ++n) sums[m][n / 4] += a[m][4 * k + n % 4] * b[k][n];
      }
    }
    std::memcpy(tile(kSums), sums, kBytes);
  }

 private:
  static constexpr size_t kBytes = 1024;
  static char* tile(int number) {
    if (!configured) throw std::logic_error("tiles are not configured");
    return tiles[number];
  }
  static inline thread_local bool configured = false;
  static inline thread_local char tiles[8][kBytes];
};

}  // namespace loci::kernels::emulated
