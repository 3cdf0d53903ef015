// SPDX-License-Identifier: Apache-2.0
// Starts the ranks of a job on this machine as processes of this program.
#pragma once

#include <string>
#include <vector>

namespace loci::train {

// Runs this executable with `arguments` in `ranks` processes that communicate over the loopback
// interface, with one thread each unless OMP_NUM_THREADS is set. Interrupts are forwarded. Returns
// when all processes have ended: 0, or the exit code of the first rank that failed. If one fails,
// the others are stopped.
int run_local_ranks(int ranks, const std::vector<std::string>& arguments);

}  // namespace loci::train
