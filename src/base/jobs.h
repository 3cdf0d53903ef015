// SPDX-License-Identifier: Apache-2.0
// Runs independent jobs on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace loci {

// Runs jobs 0 to count - 1 on `workers` threads. Each thread takes the next free job. Every thread
// calls `open` once and runs its jobs with the returned function, which may hold state between
// jobs. After an exception or an interrupt no further jobs start, and the first exception is
// rethrown.
void run_jobs(size_t count, int workers,
              const std::function<std::function<void(size_t job)>()>& open);

}  // namespace loci
