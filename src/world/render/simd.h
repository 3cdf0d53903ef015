// SPDX-License-Identifier: Apache-2.0
// Vectors of floats with the width of the including file's instruction set. Only for tracer_*.cpp:
// everything is in an unnamed namespace, so that different instruction sets never share a function.
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#else
#include <cmath>
#endif

namespace loci::world {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

typedef float Floats __attribute__((vector_size(4 * kLanes)));
typedef int32_t Ints __attribute__((vector_size(4 * kLanes)));     // masks: -1 true, 0 false
typedef uint16_t Halves __attribute__((vector_size(4 * kLanes)));  // two per lane

#if defined(__AVX512F__)
inline Floats splat(float x) { return _mm512_set1_ps(x); }
inline Ints splat(int32_t x) { return (Ints)_mm512_set1_epi32(x); }
inline Floats min(Floats a, Floats b) { return _mm512_min_ps(a, b); }
inline Floats max(Floats a, Floats b) { return _mm512_max_ps(a, b); }
inline Floats sqrt(Floats a) { return _mm512_sqrt_ps(a); }
inline uint32_t bits(Ints mask) { return _mm512_movepi32_mask((__m512i)mask); }
inline Ints gather(const void* base, Ints index) {
  return (Ints)_mm512_i32gather_epi32((__m512i)index, base, 4);
}
#elif defined(__AVX2__)
inline Floats splat(float x) { return _mm256_set1_ps(x); }
inline Ints splat(int32_t x) { return (Ints)_mm256_set1_epi32(x); }
inline Floats min(Floats a, Floats b) { return _mm256_min_ps(a, b); }
inline Floats max(Floats a, Floats b) { return _mm256_max_ps(a, b); }
inline Floats sqrt(Floats a) { return _mm256_sqrt_ps(a); }
inline uint32_t bits(Ints mask) { return static_cast<uint32_t>(_mm256_movemask_ps((__m256)mask)); }
inline Ints gather(const void* base, Ints index) {
  return (Ints)_mm256_i32gather_epi32(static_cast<const int*>(base), (__m256i)index, 4);
}
#else
inline Ints gather(const void* base, Ints index) {
  const int32_t* from = static_cast<const int32_t*>(base);
  return Ints{from[index[0]], from[index[1]], from[index[2]], from[index[3]]};
}
#if defined(__SSE2__)
inline Floats splat(float x) { return _mm_set1_ps(x); }
inline Ints splat(int32_t x) { return (Ints)_mm_set1_epi32(x); }
inline Floats min(Floats a, Floats b) { return _mm_min_ps(a, b); }
inline Floats max(Floats a, Floats b) { return _mm_max_ps(a, b); }
inline Floats sqrt(Floats a) { return _mm_sqrt_ps(a); }
inline uint32_t bits(Ints mask) { return static_cast<uint32_t>(_mm_movemask_ps((__m128)mask)); }
#else
inline Floats splat(float x) { return Floats{x, x, x, x}; }
inline Ints splat(int32_t x) { return Ints{x, x, x, x}; }
inline Floats min(Floats a, Floats b) { return a < b ? a : b; }
inline Floats max(Floats a, Floats b) { return a > b ? a : b; }
inline Floats sqrt(Floats a) {
  return Floats{std::sqrt(a[0]), std::sqrt(a[1]), std::sqrt(a[2]), std::sqrt(a[3])};
}
inline uint32_t bits(Ints mask) {
  return (mask[0] & 1) | (mask[1] & 2) | (mask[2] & 4) | (mask[3] & 8);
}
#endif
#endif

constexpr uint32_t kAllBits = static_cast<uint32_t>((uint64_t{1} << kLanes) - 1);

inline bool any(Ints mask) { return bits(mask) != 0; }
inline bool all(Ints mask) { return bits(mask) == kAllBits; }

inline Floats to_float(Ints a) { return __builtin_convertvector(a, Floats); }
// Towards zero; |a| < 2^31.
inline Ints to_int(Floats a) { return __builtin_convertvector(a, Ints); }
inline Ints floor_int(Floats a) {
  const Ints whole = to_int(a);
  // Lanes without a hit may have any value. Values out of range became the least integer; it stays.
  return whole + ((to_float(whole) > a) & (whole > INT32_MIN));
}
inline Floats abs(Floats a) { return (Floats)((Ints)a & splat(int32_t{0x7fffffff})); }
inline Floats clamp(Floats a, float low, float high) {
  return min(max(a, splat(low)), splat(high));
}
inline Ints clamp_int(Ints a, int32_t low, int32_t high) {
  a = a < low ? splat(low) : a;
  return a > high ? splat(high) : a;
}

// Angle of (x, y) in [-pi, pi], error below 2e-4: for texture coordinates.
inline Floats atan2(Floats y, Floats x) {
  const Floats ax = abs(x), ay = abs(y);
  const Floats high = max(ax, ay), low = min(ax, ay);
  const Floats t = low / max(high, splat(1e-20f));
  const Floats q = t * t;
  Floats angle = ((-0.0464964749f * q + 0.15931422f) * q - 0.327622764f) * q * t + t;
  angle = ay > ax ? 1.57079637f - angle : angle;
  angle = x < 0.0f ? 3.14159274f - angle : angle;
  return y < 0.0f ? -angle : angle;
}

}  // namespace
}  // namespace loci::world
