// SPDX-License-Identifier: Apache-2.0
// The process's memory for files that also know the namespace loci::memory, whose name a function
// of base/machine.h has.
#pragma once

#include <cstdint>

namespace loci::app {

// Bytes in physical memory; 0 where the kernel does not say.
uint64_t resident_bytes();
uint64_t peak_bytes();  // since the start or the last forget_peak()
void forget_peak();

}  // namespace loci::app
