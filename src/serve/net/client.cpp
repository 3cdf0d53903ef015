// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/net/client.h"

#include "loci/serve/protocol/server_messages.h"

namespace loci::serve {

Outgoing Client::pack(const Json& message) const {
  return {encode_message(message, encoding_), encoding_ == Encoding::kJson, 0, {}};
}

void Client::send(const Json& message) {
  if (closing()) return;
  if (!outbox_.put(pack(message))) {
    ++metrics_.connections_cut;
    close(kPolicy, "the client does not read its messages");
  }
}

void Client::send_frames(const Json& message, int64_t frames, Clock::time_point at) {
  if (closing()) return;
  Outgoing packed = pack(message);
  packed.frames = frames;
  packed.at = at;
  const int64_t before = outbox_.dropped_frames();
  outbox_.put(std::move(packed));
  metrics_.frames_dropped += static_cast<uint64_t>(outbox_.dropped_frames() - before);
}

void Client::send_error(const std::string& code, const std::string& message, bool fatal,
                        const Json& event_id, const Json& request_id) {
  send(to_wire(ErrorMessage{code, message, fatal, event_id, request_id}));
}

void Client::close(int code, const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (closing()) return;
    close_reason_ = reason;
    close_code_ = code;
  }
  outbox_.drop_frames();
  outbox_.poke();
}

std::string Client::close_reason() const {
  const std::lock_guard lock(mutex_);
  return close_reason_;
}

}  // namespace loci::serve
