// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/net/metrics.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "loci/base/machine.h"

namespace loci::serve {

namespace {

void head(std::string& text, std::string_view name, std::string_view help, std::string_view type) {
  text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

template <typename Number>
void one(std::string& text, std::string_view name, std::string_view help, std::string_view type,
         Number value) {
  head(text, name, help, type);
  text += fmt::format("{} {}\n", name, value);
}

}  // namespace

void Histogram::observe(double seconds) {
  const auto bucket = std::lower_bound(kBounds.begin(), kBounds.end(), seconds) - kBounds.begin();
  const std::lock_guard lock(mutex_);
  ++counts_[static_cast<size_t>(bucket)];
  sum_ += seconds;
}

void Histogram::write(std::string& text, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  uint64_t total = 0;
  for (size_t i = 0; i < kBounds.size(); ++i) {
    total += counts_[i];
    text += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, kBounds[i], total);
  }
  total += counts_.back();
  text +=
      fmt::format("{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2}\n{0}_count {1}\n", name, total, sum_);
}

void Metrics::count_request(const std::string& route, int status) {
  const std::lock_guard lock(mutex_);
  ++requests_[{route, status}];
}

std::string Metrics::text() const {
  std::string text;
  const auto gauge = [&](std::string_view name, std::string_view help, auto value) {
    one(text, name, help, "gauge", value);
  };
  const auto counter = [&](std::string_view name, std::string_view help, auto value) {
    one(text, name, help, "counter", value);
  };
  gauge("loci_connections", "Open connections.", connections.load());
  gauge("loci_websockets", "Open WebSockets.", websockets.load());
  gauge("loci_sessions_active", "Walks with a connection.", sessions.load());
  gauge("loci_walks_in_memory", "Walks in memory, with or without a connection.",
        walks_in_memory.load());
  gauge("loci_queue_depth", "Walks and jobs that wait for the engine.", queue_length.load());
  gauge("loci_videos_waiting", "Video jobs that are waiting or running.", videos_waiting.load());
  gauge("loci_disk_bytes", "Bytes in the data folder.", disk_bytes.load());
  gauge("loci_disk_limit_bytes", "Maximum size of the data folder in bytes.",
        disk_limit_bytes.load());
  gauge("process_resident_memory_bytes", "Resident memory.",
        process_memory().value_or(ProcessMemory()).now);
  counter("loci_frames_generated_total", "Generated video frames.", frames_generated.load());
  counter("loci_chunks_generated_total", "Generated chunks.", chunks_generated.load());
  counter("loci_frames_sent_total", "Video frames sent to clients.", frames_sent.load());
  counter("loci_frames_dropped_total", "Video frames that were dropped for slow clients.",
          frames_dropped.load());
  counter("loci_bytes_sent_total", "Bytes of WebSocket messages sent.", bytes_sent.load());
  counter("loci_messages_received_total", "WebSocket messages received.", messages_received.load());
  counter("loci_messages_refused_total", "WebSocket messages answered by an error.",
          messages_refused.load());
  counter("loci_connections_refused_total", "Connections and upgrades refused.",
          connections_refused.load());
  counter("loci_connections_cut_total",
          "Connections closed because the client was silent or too slow.", connections_cut.load());
  counter("loci_worlds_opened_total", "Worlds that were created or opened.", worlds_opened.load());
  counter("loci_snapshots_total", "Snapshots of memories that were written.", snapshots.load());
  counter("loci_errors_total", "Internal errors.", errors.load());
  head(text, "loci_chunk_seconds", "Time to generate a chunk.", "histogram");
  chunk_seconds.write(text, "loci_chunk_seconds");
  head(text, "loci_queue_seconds", "Time that a due walk or job waited for the engine.",
       "histogram");
  queue_seconds.write(text, "loci_queue_seconds");
  head(text, "loci_control_latency_seconds",
       "Time from the arrival of a control to its first frame.", "histogram");
  control_latency_seconds.write(text, "loci_control_latency_seconds");
  head(text, "loci_http_requests_total", "HTTP requests by route and status.", "counter");
  const std::lock_guard lock(mutex_);
  for (const auto& [key, count] : requests_) {
    text += fmt::format("loci_http_requests_total{{route=\"{}\",status=\"{}\"}} {}\n", key.first,
                        key.second, count);
  }
  return text;
}

}  // namespace loci::serve
