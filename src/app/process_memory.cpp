// SPDX-License-Identifier: Apache-2.0
#include "loci/app/process_memory.h"

#include "loci/base/machine.h"

namespace loci::app {

uint64_t resident_bytes() { return process_memory().value_or(ProcessMemory()).now; }
uint64_t peak_bytes() { return process_memory().value_or(ProcessMemory()).peak; }
void forget_peak() { reset_peak_memory(); }

}  // namespace loci::app
