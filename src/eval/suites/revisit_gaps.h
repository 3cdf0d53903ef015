// SPDX-License-Identifier: Apache-2.0
// Revisits by the time since the first visit: short, medium and long gaps.
#pragma once

#include <array>

namespace loci::eval {

struct RevisitGap {
  double limit;        // seconds, included
  const char* suffix;  // of metric keys
  const char* words;   // of metric titles
};

inline constexpr std::array<RevisitGap, 3> kRevisitGaps = {{{20, "_8_20", ", 8–20 s gap"},
                                                            {60, "_20_60", ", 20–60 s gap"},
                                                            {1e300, "_60", ", > 60 s gap"}}};

constexpr size_t gap_index(double seconds) {
  size_t i = 0;
  while (i + 1 < kRevisitGaps.size() && seconds > kRevisitGaps[i].limit) ++i;
  return i;
}

constexpr const char* gap_suffix(double seconds) { return kRevisitGaps[gap_index(seconds)].suffix; }

}  // namespace loci::eval
