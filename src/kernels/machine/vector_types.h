// SPDX-License-Identifier: Apache-2.0
// Vector types with any number of lanes, by the compiler's extension, which splits vectors that are
// longer than the machine's. Everything is in an unnamed namespace, so that instruction sets share
// no function.
#pragma once

#include <cstdint>

namespace loci::kernels {
namespace {

template <int kLanes>
struct VectorOf {
  typedef float Floats __attribute__((vector_size(4 * kLanes)));
  typedef int32_t Ints __attribute__((vector_size(4 * kLanes)));
  typedef uint32_t Words __attribute__((vector_size(4 * kLanes)));
  typedef uint16_t Halves __attribute__((vector_size(2 * kLanes)));
  typedef int16_t Shorts __attribute__((vector_size(2 * kLanes)));
  typedef int8_t Bytes __attribute__((vector_size(kLanes)));
  typedef uint8_t Nibbles __attribute__((vector_size(kLanes)));
};

// Lane i of the result is lane order[i] of `a` followed by `b`.
template <typename Vector, typename Order>
inline Vector shuffled(const Vector& a, const Vector& b, const Order& order) {
#if defined(__clang__)  // builds only the fuzzers; supports only constant orders
  constexpr int kLanes = sizeof(Vector) / sizeof(a[0]);
  Vector result;
  for (int i = 0; i < kLanes; ++i) {
    result[i] = order[i] < kLanes ? a[order[i]] : b[order[i] - kLanes];
  }
  return result;
#else
  return __builtin_shuffle(a, b, order);
#endif
}

}  // namespace
}  // namespace loci::kernels
