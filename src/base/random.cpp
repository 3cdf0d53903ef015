// SPDX-License-Identifier: Apache-2.0
#include "loci/base/random.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "loci/base/error.h"

namespace loci {

namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;

uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

uint64_t hash_keys(std::initializer_list<uint64_t> keys) {
  uint64_t hash = kGolden;
  for (const uint64_t key : keys) hash = mix(hash + kGolden + key);
  return hash;
}

uint64_t hash_bytes(uint64_t start, const void* data, size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  uint64_t hash = hash_keys({start, size});
  while (size > 0) {
    uint64_t word = 0;
    const size_t taken = std::min(size, sizeof(word));
    std::memcpy(&word, bytes, taken);
    hash = (hash ^ word) * 0x9fb21c651e98df25;
    hash ^= hash >> 32;
    bytes += taken;
    size -= taken;
  }
  return hash;
}

uint64_t Random::next() { return mix(state_ += kGolden); }

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

uint64_t Random::below(uint64_t count) {
  LOCI_CHECK(count > 0, "below() needs a positive count");
  const uint64_t limit =
      -count % count;  // 2^64 mod count; numbers below it are rejected to avoid a bias
  for (;;) {
    const uint64_t number = next();
    if (number >= limit) return number % count;
  }
}

int64_t Random::between(int64_t low, int64_t high) {
  LOCI_CHECK(low <= high, "between() needs low <= high, got {} and {}", low, high);
  // Unsigned arithmetic wraps, so all ranges work. 0 means all 2^64 numbers.
  const uint64_t count = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  const uint64_t offset = count == 0 ? next() : below(count);
  return static_cast<int64_t>(static_cast<uint64_t>(low) + offset);
}

double Random::normal() {
  // Box-Muller. The second number is discarded, so that the state stays one word.
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

}  // namespace loci
