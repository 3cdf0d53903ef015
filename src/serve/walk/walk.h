// SPDX-License-Identifier: Apache-2.0
// A walk through a live world: the task that generates its chunks, writes its records and serves
// its client. Its parts are a mailbox for other threads, a state machine, the memory and the
// output.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loci/serve/engine/engine.h"
#include "loci/serve/engine/services.h"
#include "loci/serve/videos/recorder.h"
#include "loci/serve/walk/mailbox.h"
#include "loci/serve/walk/walk_memory.h"
#include "loci/serve/walk/walk_output.h"
#include "loci/serve/walk/walk_state.h"
#include "loci/serve/walk/world_request.h"

namespace loci::serve {

// The engine's thread runs it. Other threads reach it through attach(), detach(), attached(),
// lingering_since(), evict() and post() only.
class Walk : public Task {
 public:
  // The world of `request` is created or opened in the first time slice.
  Walk(Services& services, WorldRequest request);
  ~Walk() override;

  // Any thread. A client replaces another one, whose connection is closed.
  void attach(std::shared_ptr<Client> client);
  void detach(const Client& client);
  bool attached() const { return mailbox_->client() != nullptr; }
  // Any thread. Since when the walk waits for a client to come back; nothing with a client or after
  // evict().
  std::optional<Clock::time_point> lingering_since() const { return mailbox_->lingering_since(); }
  // Any thread. A walk without a client ends in its next time slice instead of lingering.
  void evict();
  // Any thread. Too many messages are refused here, other errors in the time slice that handles the
  // message.
  void post(WalkMessage message);

  // Writes the memory to disk. Called in a time slice, or after the engine has stopped.
  void keep();

  std::optional<Clock::time_point> due() override;
  void run_slice(std::chrono::duration<double> waited) override;
  bool finished() override { return state_.phase() == WalkState::Phase::kEnded; }
  void failed() override;

 private:
  using ClientPtr = std::shared_ptr<Client>;

  // walk.cpp: time slices.
  void advance(const ClientPtr& client, std::chrono::duration<double> waited);
  void recover(const ClientPtr& client, const ErrorReply& reply);
  void begin();
  void read_back();
  void become_ready(bool resumed);
  // Sends the complete state of the walk to the client.
  void show(const ClientPtr& client, bool resumed);
  void continue_rebuild();
  void make_chunk(const ClientPtr& client, std::chrono::duration<double> waited);
  void end_tour();
  void pause(const std::string& reason);
  void resume();
  // When a walk without a client ends.
  Clock::time_point leaves_at(const Mailbox::Status& mail) const;
  // No client has come back: saves the memory and ends the walk, unless a client comes meanwhile.
  void leave();
  // Ends the walk after an error and returns its client. The world is released first, so that a
  // client that is told of the error can open it again at once.
  ClientPtr end();
  void send_state(const std::string& name, const std::string& reason, double progress = -1);

  // walk_events.cpp: messages of the client.
  void handle(const EventMessage& message);
  void handle(const SaveMessage& message);
  void handle(const ForkMessage& message);
  void handle(const SplitMessage& message);
  void handle(const RecordMessage& message);
  void apply(const PromptEvent& event);
  void apply(const StepsEvent& event);
  void apply(const HistoryEvent& event);
  void apply(const ReadoutEvent& event);
  void apply(const ResetMemoryEvent& event);
  void apply(const PauseEvent& event);
  void apply(const ResumeEvent& event);
  void apply(const StepEvent& event);
  // The views that an event is for; a view that does not exist is refused.
  std::vector<size_t> views_of(std::optional<int64_t> view) const;
  // False if the recording was empty.
  bool stop_recording(const Json& request_id);

  Services& services_;
  WorldRequest request_;
  std::shared_ptr<Mailbox> mailbox_;  // shared with output that waits in the encoder
  WalkState state_;
  WalkMemory memory_;
  WalkOutput output_;
  std::optional<Recorder> recorder_;
};

}  // namespace loci::serve
