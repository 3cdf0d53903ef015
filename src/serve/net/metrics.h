// SPDX-License-Identifier: Apache-2.0
// Counters, gauges and histograms in the text format of Prometheus. Any thread may use them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace loci::serve {

class Histogram {
 public:
  void observe(double seconds);
  // Appends the lines of the metric `name`.
  void write(std::string& text, const std::string& name) const;

 private:
  static constexpr std::array kBounds = {0.01, 0.025, 0.05, 0.1,  0.25, 0.5,
                                         1.0,  2.5,   5.0,  10.0, 60.0};
  mutable std::mutex mutex_;
  std::array<uint64_t, kBounds.size() + 1> counts_{};
  double sum_ = 0;
};

struct Metrics {
  std::atomic<int64_t> connections = 0, websockets = 0, sessions = 0, walks_in_memory = 0,
                       queue_length = 0, videos_waiting = 0;
  std::atomic<uint64_t> frames_generated = 0, chunks_generated = 0, frames_sent = 0,
                        frames_dropped = 0, bytes_sent = 0, messages_received = 0,
                        messages_refused = 0, connections_refused = 0, connections_cut = 0,
                        worlds_opened = 0, snapshots = 0, errors = 0, disk_bytes = 0,
                        disk_limit_bytes = 0;
  Histogram chunk_seconds, queue_seconds, control_latency_seconds;

  void count_request(const std::string& route, int status);

  std::string text() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, uint64_t> requests_;
};

}  // namespace loci::serve
