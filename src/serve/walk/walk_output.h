// SPDX-License-Identifier: Apache-2.0
// The output of a walk: messages, frames, thumbnails and statistics for its client.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/serve/engine/services.h"
#include "loci/serve/protocol/server_messages.h"
#include "loci/serve/walk/mailbox.h"
#include "loci/serve/walk/walk_memory.h"
#include "loci/serve/walk/walk_state.h"

namespace loci::serve {

// The engine's thread alone uses it; after the engine has stopped, the thread that stopped it.
//
// Nothing is encoded or sent here: every function submits a job to the encoder, whose thread does
// both. A client therefore gets everything that the engine's thread sends in the order of the
// calls. A client that is null or has left gets nothing. A job that fails tells its client and the
// mailbox.
class WalkOutput {
 public:
  using ClientPtr = std::shared_ptr<Client>;

  // `mailbox` is shared with jobs, which may outlive the walk.
  WalkOutput(Services& services, std::shared_ptr<Mailbox> mailbox);

  void send(const ClientPtr& client, Json message);
  void send_error(const ClientPtr& client, const ErrorReply& reply, bool fatal,
                  const Json& event_id = {}, const Json& request_id = {});
  // Drops frames that were not sent yet: they show a world that the client has left.
  void drop_frames(const ClientPtr& client);
  // Closes the connection after everything that was sent before.
  void close(const ClientPtr& client, int code, const std::string& reason);

  // Confirms that an event with an id was applied. Later frames and statistics contain this id.
  void send_receipt(const ClientPtr& client, std::optional<int64_t> event_id,
                    const std::string& kind, int64_t chunk);
  // Call it for a new client, which has sent no events.
  void forget_events() { last_event_.reset(); }

  // `progress` from 0 to 1, negative: unknown. The views are part of it if the walk is ready.
  void send_state(const ClientPtr& client, const WalkState& state, const WalkMemory& memory,
                  const std::string& name, const std::string& reason, double progress = -1);
  // The state of a walk that is ready: running or paused.
  void send_phase(const ClientPtr& client, const WalkState& state, const WalkMemory& memory);
  void send_session(const ClientPtr& client, const WalkMemory& memory, bool resumed,
                    bool recording);
  // The newest frame of a view, from its record.
  void send_still(const ClientPtr& client, const WalkMemory& memory, size_t view,
                  const ChunkRecord& newest);
  // Thumbnails of the retained frames and statistics of a view as it is, for the newest chunk.
  void send_memory(const ClientPtr& client, WalkMemory& memory, size_t view,
                   const ChunkRecord& newest);

  // Milliseconds that the engine spent on a chunk. `interval`: since the beginning of the previous
  // chunk.
  struct Times {
    double forward = 0, store = 0, commit = 0, total = 0, interval = 0, queue = 0;
  };
  // Measurements of the encoder's thread while it sends the frames of a chunk. Only that thread
  // uses them.
  struct Sent {
    std::vector<size_t> bytes;         // by view
    double encode_ms = 0;              // of all views
    std::optional<double> latency_ms;  // from the oldest control's arrival to the first frame
  };
  // Frames of a chunk, by view, that are due from `first` on. `oldest_control` is when the first of
  // the controls that the chunk applies arrived. Give the result to send_chunk().
  std::shared_ptr<Sent> send_frames(const ClientPtr& client, const WalkMemory& memory,
                                    const Pace& pace, int64_t chunk, std::vector<at::Tensor> frames,
                                    Clock::time_point first,
                                    std::optional<Clock::time_point> oldest_control);
  // Thumbnails and statistics of a view for a chunk that was committed.
  void send_chunk(const ClientPtr& client, WalkMemory& memory, const Pace& pace, size_t view,
                  const ChunkRecord& record, const Times& times, std::shared_ptr<Sent> sent);

 private:
  void submit(const ClientPtr& client, size_t bytes, Encoder::Job job);
  void send_thumbnails(const ClientPtr& client, size_t view, std::vector<ThumbnailInfo> frames);
  // `chunk_stats` without times and without the number of dropped frames.
  ChunkStatsMessage stats_of(WalkMemory& memory, size_t view, const ChunkRecord& record) const;

  Services& services_;
  std::shared_ptr<Mailbox> mailbox_;
  std::optional<int64_t> last_event_;  // id of the newest event that was applied
};

}  // namespace loci::serve
