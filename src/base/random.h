// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every machine and compiler (the standard's distributions are
// not), seekable by construction: a stream is named by its keys, so parallel workers need no order.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace loci {

// Mixes keys into one well-spread 64-bit number, e.g. hash_keys({seed, clip, frame}).
uint64_t hash_keys(std::initializer_list<uint64_t> keys);

// SplitMix64: full period 2^64, state of one word.
class Random {
 public:
  explicit Random(uint64_t seed) : Random({seed}) {}
  Random(std::initializer_list<uint64_t> keys) : state_(hash_keys(keys)) {}
  // Continues where a stream stood when state() was read.
  static Random from_state(uint64_t state);

  uint64_t next();
  // [0, 1) with 53 random bits.
  double uniform();
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  // [0, count), unbiased; count > 0.
  uint64_t below(uint64_t count);
  // [low, high], both included; low <= high.
  int64_t between(int64_t low, int64_t high);
  bool chance(double probability) { return uniform() < probability; }
  // Mean 0, deviation 1.
  double normal();

  uint64_t state() const { return state_; }

 private:
  uint64_t state_;
};

}  // namespace loci
