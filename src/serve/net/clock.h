// SPDX-License-Identifier: Apache-2.0
// The clock of the server: monotonic, so that changes of the system time have no effect.
#pragma once

#include <chrono>

namespace loci::serve {

using Clock = std::chrono::steady_clock;

inline double elapsed_ms(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace loci::serve
