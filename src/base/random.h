// SPDX-License-Identifier: Apache-2.0
// Random numbers that are equal on all machines and compilers, unlike the distributions of the
// standard library. A sequence is identified by its keys, so results do not depend on the order of
// parallel workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace loci {

// Mixes keys into one 64-bit hash, e.g. hash_keys({seed, clip, frame}).
uint64_t hash_keys(std::initializer_list<uint64_t> keys);

// Hash of `size` bytes that follow content with the hash `start`. Processes eight bytes at a time:
// several gigabytes per second. It detects damage, not manipulation.
uint64_t hash_bytes(uint64_t start, const void* data, size_t size);

// SplitMix64: period 2^64, one word of state.
class Random {
 public:
  explicit Random(uint64_t seed) : Random({seed}) {}
  Random(std::initializer_list<uint64_t> keys) : state_(hash_keys(keys)) {}

  uint64_t next();
  // [0, 1) with 53 random bits.
  double uniform();
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  // [0, count), unbiased; count > 0.
  uint64_t below(uint64_t count);
  // [low, high], both included; low <= high.
  int64_t between(int64_t low, int64_t high);
  bool chance(double probability) { return uniform() < probability; }
  // Mean 0, standard deviation 1.
  double normal();

 private:
  uint64_t state_;
};

}  // namespace loci
