// SPDX-License-Identifier: Apache-2.0
// Included by norm_silu_<isa>.cpp only: everything is in an unnamed namespace, so that no two
// instruction sets share a function.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "loci/kernels/norm_silu_kernel.h"

namespace loci::kernels::norm_silu_kernels {
namespace {

#if defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

typedef float Floats __attribute__((vector_size(4 * kLanes)));
typedef int32_t Ints __attribute__((vector_size(4 * kLanes)));
typedef uint32_t Words __attribute__((vector_size(4 * kLanes)));
typedef uint16_t Halves __attribute__((vector_size(2 * kLanes)));

inline Floats load(const float* from) {
  Floats value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
inline void store(float* to, Floats value) { std::memcpy(to, &value, sizeof value); }

inline Floats load(const uint16_t* from) {
  Halves half;
  std::memcpy(&half, from, sizeof half);
  return (Floats)(__builtin_convertvector(half, Words) << 16);
}
inline void store(uint16_t* to, Floats value) {
  const Words bits = (Words)value;
  const Words rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;  // to nearest, ties to even
  const Halves half = __builtin_convertvector(rounded, Halves);
  std::memcpy(to, &half, sizeof half);
}

// A vector of the last `count` < kLanes numbers of a row, zeros behind them.
template <typename T>
inline Floats load_some(const T* from, int64_t count) {
  T all[kLanes] = {};
  std::memcpy(all, from, static_cast<size_t>(count) * sizeof(T));
  return load(all);
}
template <typename T>
inline void store_some(T* to, Floats value, int64_t count) {
  T all[kLanes];
  store(all, value);
  std::memcpy(to, all, static_cast<size_t>(count) * sizeof(T));
}

inline float sum(Floats value) {
  float total = 0;
  for (int i = 0; i < kLanes; ++i) total += value[i];
  return total;
}

// e^x to about 2 units in the last place. Below -87 the result would be denormal: it stays at
// e^-87.
inline Floats exponential(Floats x) {
  x = x < -87.0f ? Floats{} - 87.0f : x;
  x = x > 88.0f ? Floats{} + 88.0f : x;
  const Floats scaled = x * 1.44269504f;
  const Ints power =
      __builtin_convertvector(scaled + (scaled < 0.0f ? Floats{} - 0.5f : Floats{} + 0.5f), Ints);
  const Floats whole = __builtin_convertvector(power, Floats);
  const Floats r = x - whole * 0.693359375f + whole * 2.12194440e-4f;  // ln 2 in two parts
  Floats p = Floats{} + 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return (p * r * r + r + 1.0f) * (Floats)((power + 127) << 23);
}

inline Floats sigmoid(Floats x) { return 1.0f / (1.0f + exponential(-x)); }

// sqrt(C) / |row|; the length is bounded below as in the original.
template <typename T>
inline float row_scale(const T* row, int64_t channels, float* length) {
  Floats squares = {};
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) {
    const Floats v = load(row + c);
    squares += v * v;
  }
  if (c < channels) {
    const Floats v = load_some(row + c, channels - c);
    squares += v * v;
  }
  const float root = std::sqrt(sum(squares));
  *length = root > 1e-12f ? root : 1e-12f;
  return std::sqrt(static_cast<float>(channels)) / *length;
}

template <typename T>
void forward_rows(const T* x, const float* gamma, T* y, int64_t pixels, int64_t channels) {
  for (int64_t p = 0; p < pixels; ++p, x += channels, y += channels) {
    float length;
    const float scale = row_scale(x, channels, &length);
    int64_t c = 0;
    for (; c + kLanes <= channels; c += kLanes) {
      const Floats u = load(x + c) * (load(gamma + c) * scale);
      store(y + c, u * sigmoid(u));
    }
    if (c < channels) {
      const Floats u =
          load_some(x + c, channels - c) * (load_some(gamma + c, channels - c) * scale);
      store_some(y + c, u * sigmoid(u), channels - c);
    }
  }
}

// With u = x k g, k = sqrt(C) / |x| and a = g dL/du: dL/dx = k (a - x (a·x) / |x|²).
void backward_rows(const float* x, const float* gamma, const float* grad_y, float* grad_x,
                   float* grad_gamma, int64_t pixels, int64_t channels) {
  for (int64_t p = 0; p < pixels; ++p, x += channels, grad_y += channels, grad_x += channels) {
    float length;
    const float scale = row_scale(x, channels, &length);
    Floats dot = {};
    const auto pull = [&](Floats v, Floats g, Floats dy, Floats& dg) {
      const Floats u = v * (g * scale);
      const Floats s = sigmoid(u);
      const Floats du = dy * (s * (1.0f + u * (1.0f - s)));
      dg += du * (v * scale);
      const Floats a = g * du;
      dot += a * v;
      return a;
    };
    int64_t c = 0;
    for (; c + kLanes <= channels; c += kLanes) {
      Floats dg = load(grad_gamma + c);
      store(grad_x + c, pull(load(x + c), load(gamma + c), load(grad_y + c), dg));
      store(grad_gamma + c, dg);
    }
    if (const int64_t rest = channels - c; rest > 0) {
      Floats dg = load_some(grad_gamma + c, rest);
      store_some(
          grad_x + c,
          pull(load_some(x + c, rest), load_some(gamma + c, rest), load_some(grad_y + c, rest), dg),
          rest);
      store_some(grad_gamma + c, dg, rest);
    }
    const float share = sum(dot) / (length * length);
    c = 0;
    for (; c + kLanes <= channels; c += kLanes) {
      store(grad_x + c, (load(grad_x + c) - load(x + c) * share) * scale);
    }
    for (; c < channels; ++c) grad_x[c] = (grad_x[c] - x[c] * share) * scale;
  }
}

constexpr Kernels kKernels = {forward_rows<float>, forward_rows<uint16_t>, backward_rows};

}  // namespace
}  // namespace loci::kernels::norm_silu_kernels
