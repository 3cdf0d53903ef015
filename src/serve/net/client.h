// SPDX-License-Identifier: Apache-2.0
// The client of a WebSocket: its output options and the messages that wait for it. Any thread may
// use it.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>

#include "loci/base/config.h"
#include "loci/serve/net/limits.h"
#include "loci/serve/net/metrics.h"
#include "loci/serve/net/outbox.h"
#include "loci/serve/protocol/client_messages.h"
#include "loci/serve/protocol/message.h"

namespace loci::serve {

// The WebSocket close codes that the server uses.
enum CloseCode : int {
  kDone = 1000,
  kGoingAway = 1001,
  kPolicy = 1008,
  kInternal = 1011,
  kTryLater = 1013,
  kTakenOver = 4001
};

class Client {
 public:
  Client(const Limits& limits, Metrics& metrics)
      : outbox_(limits.outbox_frame_bytes, limits.outbox_bytes), metrics_(metrics) {}

  // To be called before the first message is sent.
  void set_encoding(Encoding encoding) { encoding_ = encoding; }
  void set_output(const OutputOptions& output) { output_ = output; }
  const OutputOptions& output() const { return output_; }

  void send(const Json& message);
  void send_frames(const Json& message, int64_t frames, Clock::time_point at);
  void send_error(const std::string& code, const std::string& message, bool fatal,
                  const Json& event_id = {}, const Json& request_id = {});
  // Sends the waiting messages, drops the waiting frames and closes the connection.
  void close(int code, const std::string& reason);

  Outbox& outbox() { return outbox_; }
  bool closing() const { return close_code_.load() != 0; }
  int close_code() const { return close_code_.load(); }
  std::string close_reason() const;

 private:
  Outgoing pack(const Json& message) const;

  Outbox outbox_;
  Metrics& metrics_;
  Encoding encoding_ = Encoding::kMessagePack;
  OutputOptions output_;
  std::atomic<int> close_code_ = 0;
  mutable std::mutex mutex_;
  std::string close_reason_;
};

}  // namespace loci::serve
