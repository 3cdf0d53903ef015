// SPDX-License-Identifier: Apache-2.0
#include "loci/base/jobs.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"

namespace loci {

void run_jobs(size_t count, int workers,
              const std::function<std::function<void(size_t job)>()>& open) {
  LOCI_CHECK(workers >= 1, "expected at least 1 worker, got {}", workers);
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&] {
    try {
      const std::function<void(size_t)> run = open();
      for (size_t job = next++; job < count; job = next++) {
        check_interrupt();
        run(job);
      }
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> pool;
    const size_t threads = std::min(static_cast<size_t>(workers), count);
    for (size_t i = 0; i < threads; ++i) pool.emplace_back(work);
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace loci
