// SPDX-License-Identifier: Apache-2.0
// The part of a walk that other threads reach: its client, the messages that wait for the engine's
// thread, and the controls that the client holds.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "loci/serve/net/client.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/protocol/client_messages.h"
#include "loci/serve/walk/controls.h"

namespace loci::serve {

// Every function locks the mutex for its whole duration and takes no other lock. Connections call
// attach(), detach(), lingering_since(), evict() and post(). The encoder's thread calls
// report_failure(). The engine's thread calls the other functions.
class Mailbox {
 public:
  // At most `queue_limit` messages, and as many camera events, wait for the next chunk.
  explicit Mailbox(size_t queue_limit);

  // The walk belongs to `client` from now on. Returns the client that it replaces, if any.
  [[nodiscard]] std::shared_ptr<Client> attach(std::shared_ptr<Client> client);
  // False if the walk does not belong to `client` any more.
  bool detach(const Client& client);
  std::shared_ptr<Client> client() const;
  // Since when the walk waits for a client to come back; nothing with a client or after evict().
  std::optional<Clock::time_point> lingering_since() const;
  // The walk must end without waiting for a client to come back. attach() revokes it.
  void evict();

  // Appends a message for the engine's thread. Camera events are applied at once if the walk is
  // ready for them: the chunk that begins next uses them, whatever waits before it. Too many
  // messages are refused ("limit").
  void post(WalkMessage message);

  // Output of the walk could not be encoded or sent. The walk pauses in its next time slice.
  void report_failure(const ErrorReply& reply);

  // The state that determines when the walk needs a time slice.
  struct Status {
    std::shared_ptr<Client> client;
    Clock::time_point alone_since;  // without a client: since when
    bool evicted = false;           // evict() was called
    bool waiting = false;           // collect() would return a message, a greeting or a failure
    bool moved = false;             // camera events came since the last collect()
  };
  Status status() const;
  Clock::time_point last_input() const;

  struct Mail {
    std::deque<WalkMessage> messages;
    bool greet = false;  // a client was attached and has not been shown the world
    bool moved = false;  // camera events came since the last collect()
    std::optional<ErrorReply> failure;
  };
  // Empties the mailbox.
  Mail collect();

  // From now on post() applies camera events at once. Returns false if it did so before; the held
  // controls then stay. `pose`: the camera's current pose. Cancels the greeting of the client.
  bool open_controls(Controls controls, const camera::Pose& pose);
  // Applies a camera event that was posted before open_controls().
  void apply_controls(const CameraActions& actions, std::optional<int64_t> event_id);
  void set_pose(const camera::Pose& pose);
  camera::KeySpeeds speeds() const;

  struct Applied {
    std::vector<std::optional<int64_t>> event_ids;  // camera events since the last chunk
    std::optional<Clock::time_point> oldest;        // arrival of the first of them
    bool moves = false;                             // something is held or queued
  };
  // A chunk begins: its camera events are applied with it.
  Applied begin_chunk();
  // Poses of the chunk's latent frames; see Controls::take().
  std::vector<camera::Pose> take_poses(int64_t latents);

 private:
  void apply(const CameraActions& actions, std::optional<int64_t> event_id, Clock::time_point at);
  // Drops the controls and messages of a client that has left.
  void release_controls();

  const size_t queue_limit_;
  mutable std::mutex mutex_;
  std::shared_ptr<Client> client_;
  Mail mail_;
  std::optional<Controls> controls_;
  Applied applied_;
  Clock::time_point last_input_, alone_since_;
  bool evicted_ = false;
};

}  // namespace loci::serve
