// SPDX-License-Identifier: Apache-2.0
// A walk through a live world: the task that makes its chunks, keeps its records and talks to its
// client.
//
// The engine's thread runs it; connections reach it through attach(), detach() and post().
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "loci/serve/net/client.h"
#include "loci/serve/walk/controls.h"
#include "loci/serve/walk/engine.h"
#include "loci/serve/walk/pace.h"
#include "loci/serve/videos/recorder.h"
#include "loci/serve/walk/services.h"
#include "loci/serve/walk/view.h"
#include "loci/serve/walk/world_request.h"

namespace loci::serve {

class Walk : public Task {
 public:
  // A request that was checked; its world is made or opened at the first turn.
  Walk(Services& services, WorldRequest request);
  ~Walk() override;

  // Any thread. A client takes the place of another one, which is told so.
  void attach(std::shared_ptr<Client> client);
  void detach(const Client& client);
  bool attached() const;
  // `event`, `save`, `fork`, `split` and `record` messages. What can be refused at once is thrown.
  void post(const Json& message);

  // Keeps the memory on disk, after the engine has stopped.
  void keep();

  std::optional<Clock::time_point> due() override;
  void turn(std::chrono::duration<double> waited) override;
  bool finished() override { return phase_ == Phase::kGone; }
  void failed() override;

 private:
  enum class Phase { kNew, kReading, kReady, kGone };
  struct Incoming {
    Json message;
    Clock::time_point at;
  };
  // Memories that are made from the records: of a view under another history, or of one that joins.
  struct Rebuild {
    size_t view;
    View fresh;
    int64_t next = 0;
  };
  // What a chunk cost, in milliseconds.
  struct Times {
    double forward = 0, encode = 0, store = 0, commit = 0, total = 0, interval = 0, queue = 0;
  };

  // walk.cpp: turns.
  std::shared_ptr<Client> client() const;
  void run_turn(Client& client, std::chrono::duration<double> waited);
  bool wants_chunk() const;
  bool idle() const;
  bool lingered() const;
  void make_chunk(Client& client, std::chrono::duration<double> waited);
  ChunkRecord generate(std::vector<at::Tensor>& frames, Times& times);
  void pause(const std::string& reason);
  void resume();
  void leave();
  // Gives the world up after an error, and says whose walk it was until then (it may have been
  // taken over meanwhile): who is told of the error and tries again at once must not meet this
  // walk.
  std::shared_ptr<Client> end();
  void snapshot();
  void add_to_path(const ChunkRecord& record);
  // The client moves, or it is over.
  void end_tour();

  // walk_open.cpp: beginning and going on.
  void begin();
  void begin_new();
  void begin_stored();
  void prepare_reading();
  void read_back();
  void rebuild_step();
  void drop_second();
  void become_ready(bool resumed);
  void show(Client& client, bool resumed);

  // walk_events.cpp: what clients ask for.
  void check_event(const Json& message) const;
  void handle(const Json& message);
  void apply_controls(const Json& message, Clock::time_point at);
  void handle_event(const Json& message);
  void handle_save(const Json& message);
  void handle_fork(const Json& message);
  void handle_split(const Json& message);
  void handle_record(const Json& message);
  std::vector<size_t> views_of(const Json& payload) const;
  // What the client before held, asked and waits for is not the next one's. The lock is held.
  void let_go();
  bool stop_recording(const Json& request_id);  // false: there was nothing to keep

  // walk_output.cpp: what they get.
  void send_state(const std::string& state, const std::string& reason, double progress = -1);
  // Running or paused, as it is.
  void send_phase();
  void send_session(Client& client, bool resumed);
  // Gives the bytes sent.
  size_t send_frames(Client& client, size_t view, const at::Tensor& frames, int64_t chunk,
                     Clock::time_point first);
  void send_still(Client& client, size_t view, const std::string& jpeg, int64_t chunk);
  void send_thumbnails(Client& client, size_t view, int64_t first,
                       const std::vector<std::string>& jpegs);
  // Those of the frames that `memory`, as View::memory_stats() gives it, lists.
  void send_retained_thumbnails(Client& client, size_t view, const Json& memory);
  // Statistics and thumbnails of a memory as it is, for the newest chunk.
  void send_memory(Client& client, size_t view, const ChunkRecord& newest);
  void send_stats(Client& client, size_t view, const ChunkRecord& record, const Times* times,
                  const Json& latency, size_t payload_bytes, Json memory);
  int64_t first_latent(int64_t chunk) const;

  Services& services_;
  WorldRequest request_;

  mutable std::mutex mutex_;
  std::shared_ptr<Client> client_;
  bool greet_ = false;  // the client has not been shown the world
  std::deque<Incoming> inbox_;
  std::optional<Controls> controls_;
  std::vector<Json> unapplied_;  // ids of camera events that no chunk has taken
  std::optional<Clock::time_point> oldest_control_;
  Clock::time_point last_input_, alone_since_;
  bool awake_ = false;  // controls came since the last turn

  Phase phase_ = Phase::kNew;
  bool torn_ = false;  // a chunk is in some memories and not in all of them and the records
  std::unique_ptr<WorldFolder> folder_;
  std::vector<View> views_;
  std::unique_ptr<Tour> tour_;  // what is left of it to show
  int64_t read_ = 0;            // records that the memories hold while the past is read back
  std::deque<Rebuild> rebuilds_;
  std::string prompt_, negative_;
  std::deque<camera::Pose> path_;  // of the newest latents

  bool paused_ = false;
  std::string pause_reason_;
  int64_t steps_left_ = 0, made_ = 0;  // chunks to make while paused; made for this client
  Json last_event_;
  Pace pace_;
  Clock::time_point begun_;  // the newest chunk
  int64_t unsaved_ = 0;      // chunks since the newest snapshot
  std::optional<Recorder> recorder_;
  std::vector<std::vector<int64_t>> seen_;  // by view: latents that the newest chunk attended to
};

}  // namespace loci::serve
