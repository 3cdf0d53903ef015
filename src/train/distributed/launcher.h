// SPDX-License-Identifier: Apache-2.0
// Starts the ranks of a job on this machine: this program again, once per rank.
#pragma once

#include <string>
#include <vector>

namespace loci::train {

// Runs this executable with `arguments` in `ranks` processes that find each other over loopback,
// one thread each unless OMP_NUM_THREADS says otherwise. Interrupts are passed on. Returns when all
// have ended: 0, or the first failed rank's exit code after the others were told to stop.
int run_local_ranks(int ranks, const std::vector<std::string>& arguments);

}  // namespace loci::train
