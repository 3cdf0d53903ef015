// SPDX-License-Identifier: Apache-2.0
// Independent jobs on a few threads.
#pragma once

#include <cstddef>
#include <functional>

namespace loci {

// Does the jobs 0 to count - 1 on `workers` threads, each taking the next one that nobody has
// taken. Every thread calls `open` once for the function that does its jobs, so that it may keep
// things between them. After an exception or an interrupt no more jobs are begun, and the first
// one is thrown here.
void run_jobs(size_t count, int workers,
              const std::function<std::function<void(size_t job)>()>& open);

}  // namespace loci
