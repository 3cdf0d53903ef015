// SPDX-License-Identifier: Apache-2.0
// Rate limits with token buckets.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include "loci/serve/net/clock.h"

namespace loci::serve {

class TokenBucket {
 public:
  // `rate`: tokens per second. The bucket holds up to 2 * rate tokens.
  explicit TokenBucket(double rate) : rate_(rate), tokens_(2 * rate), last_(Clock::now()) {}

  bool take() {
    const Clock::time_point now = Clock::now();
    tokens_ =
        std::min(2 * rate_, tokens_ + rate_ * std::chrono::duration<double>(now - last_).count());
    last_ = now;
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }
  bool full() const {
    return tokens_ + rate_ * std::chrono::duration<double>(Clock::now() - last_).count() >=
           2 * rate_;
  }

 private:
  double rate_, tokens_;
  Clock::time_point last_;
};

// One bucket per client address. Any thread may use it.
class RateLimiter {
 public:
  explicit RateLimiter(double rate) : rate_(rate) {}

  bool take(const std::string& address) {
    const std::lock_guard lock(mutex_);
    // A full bucket is the same as a new one.
    if (buckets_.size() > kMostAddresses) {
      std::erase_if(buckets_, [](const auto& entry) { return entry.second.full(); });
      if (buckets_.size() > kMostAddresses) buckets_.clear();
    }
    return buckets_.try_emplace(address, rate_).first->second.take();
  }

 private:
  static constexpr size_t kMostAddresses = 10'000;
  double rate_;
  std::mutex mutex_;
  std::map<std::string, TokenBucket> buckets_;
};

}  // namespace loci::serve
