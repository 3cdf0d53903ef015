// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/walk.h"

#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/walk/walk_registry.h"

namespace loci::serve {

namespace {

using Phase = WalkState::Phase;

constexpr uint64_t kChunkRoom = uint64_t{1} << 20;  // bytes that must be free for a chunk

int close_code_of(const ErrorReply& reply) {
  if (reply.code == "internal") return kInternal;
  return reply.code == "memory" ? kTryLater : kDone;
}

Clock::duration seconds(double value) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(value));
}

}  // namespace

Walk::Walk(Services& services, WorldRequest request)
    : services_(services),
      request_(std::move(request)),
      mailbox_(std::make_shared<Mailbox>(services.limits.queued_events)),
      memory_(services),
      output_(services, mailbox_) {
  ++services_.metrics.walks_in_memory;
}

Walk::~Walk() { --services_.metrics.walks_in_memory; }

void Walk::attach(std::shared_ptr<Client> client) {
  const ClientPtr before = mailbox_->attach(std::move(client));
  if (before != nullptr) before->close(kTakenOver, "the world was opened by another connection");
  services_.engine.wake();
}

void Walk::detach(const Client& client) {
  if (mailbox_->detach(client)) services_.engine.wake();
}

void Walk::evict() {
  mailbox_->evict();
  services_.engine.wake();
}

Clock::time_point Walk::leaves_at(const Mailbox::Status& mail) const {
  if (mail.evicted) return {};
  return mail.alone_since + seconds(services_.limits.linger_seconds);
}

std::optional<Clock::time_point> Walk::due() {
  const Mailbox::Status mail = mailbox_->status();
  if (mail.client == nullptr) return leaves_at(mail);
  if (!state_.ready() || memory_.rebuilding() || mail.waiting || (mail.moved && state_.paused())) {
    return Clock::time_point();
  }
  return state_.next_chunk(mail.client->output().paced());
}

void Walk::run_slice(std::chrono::duration<double> waited) {
  const Mailbox::Status mail = mailbox_->status();
  if (mail.client == nullptr) {
    if (Clock::now() >= leaves_at(mail)) leave();
    return;
  }
  try {
    advance(mail.client, waited);
  } catch (const Interrupted&) {
    throw;
  } catch (...) {
    const ErrorReply reply = reply_to_exception("a walk");
    if (reply.code == "internal") ++services_.metrics.errors;
    recover(mail.client, reply);
  }
}

void Walk::recover(const ClientPtr& client, const ErrorReply& reply) {
  // A walk that needs more memory than there is would fail again. It ends, which frees its memory
  // for the others; its world keeps every chunk that was sent.
  if (!state_.ready() || reply.code == "memory") {
    const ClientPtr last = end();
    output_.send_error(last, reply, true);
    output_.close(last, close_code_of(reply), reply.message);
    return;
  }
  output_.send_error(client, reply, false);
  pause(reply.code == "storage" ? "storage" : "error");
  if (memory_.recover()) state_.set_phase(Phase::kReading);
}

void Walk::failed() { output_.close(end(), kInternal, "internal error of the server"); }

Walk::ClientPtr Walk::end() {
  services_.walks->forget(*this);
  memory_.close();
  state_.set_phase(Phase::kEnded);
  return mailbox_->client();
}

void Walk::advance(const ClientPtr& client, std::chrono::duration<double> waited) {
  if (state_.phase() == Phase::kNew) return begin();
  if (state_.phase() == Phase::kReading) return read_back();
  const Mailbox::Mail mail = mailbox_->collect();
  if (mail.greet) {
    state_.greet(client->output().paused);
    output_.forget_events();
    output_.drop_frames(client);
    show(client, true);
  }
  if (mail.failure) pause(mail.failure->code == "storage" ? "storage" : "error");
  if (mail.moved && state_.paused() && state_.pause_reason() == "idle") resume();
  for (const WalkMessage& message : mail.messages) {
    try {
      std::visit([this](const auto& each) { handle(each); }, message);
    } catch (const Refusal& refusal) {
      output_.send_error(client, {refusal.code(), refusal.what()}, false, event_id_of(message),
                         request_id_of(message));
    }
  }
  if (memory_.rebuilding()) return continue_rebuild();
  const std::optional<Clock::time_point> next = state_.next_chunk(client->output().paced());
  const Clock::time_point now = Clock::now();
  if (!next || now < *next) return;
  const auto idle_limit = seconds(services_.limits.pause_seconds);
  if (!state_.paused() && now - mailbox_->last_input() > idle_limit) return pause("idle");
  make_chunk(client, waited);
}

void Walk::begin() {
  ++services_.metrics.worlds_opened;
  send_state("starting", "", 0);
  if (request_.world.empty()) {
    const at::Tensor first_frame = memory_.create(request_);
    services_.walks->name(*this, memory_.folder().id());
    memory_.begin(first_frame);
    request_.picture.clear();
    become_ready(false);
  } else {
    memory_.open(request_.world);
    services_.walks->name(*this, memory_.folder().id());
    state_.set_phase(Phase::kReading);
    memory_.start_reading();
  }
}

void Walk::read_back() {
  const double share = memory_.read_back();
  if (share < 1) return send_state("starting", "", share);
  memory_.snapshot_if_due();
  become_ready(true);
}

void Walk::become_ready(bool resumed) {
  state_.set_phase(Phase::kReady);
  const WorldFacts& facts = memory_.facts();
  const ClientPtr client = mailbox_->client();
  const bool first = mailbox_->open_controls(
      Controls(facts.fps, facts.frames_per_latent, services_.limits.script_frames,
               memory_.views().front().model().key_speeds()),
      memory_.path().back());
  if (client == nullptr) return;
  if (first) {
    if (client->output().paused) state_.pause("client");
    output_.drop_frames(client);
  }
  show(client, resumed);
}

void Walk::show(const ClientPtr& client, bool resumed) {
  state_.restart(client->output().fps > 0 ? client->output().fps : memory_.facts().fps);
  const ChunkRecord newest = memory_.newest();
  output_.send_session(client, memory_, resumed, recorder_.has_value());
  for (size_t v = 0; v < memory_.views().size(); ++v) {
    output_.send_still(client, memory_, v, newest);
  }
  for (size_t v = 0; v < memory_.views().size(); ++v) {
    output_.send_memory(client, memory_, v, newest);
  }
  output_.send_phase(client, state_, memory_);
}

void Walk::continue_rebuild() {
  const WalkMemory::RebuildProgress progress = memory_.replay_rebuild();
  if (progress.share < 1) {
    return send_state("starting", progress.joins ? "split" : "history", progress.share);
  }
  if (progress.joins) end_tour();  // the new view cannot encode frames in the middle of a tour
  memory_.finish_rebuild();
  const ClientPtr client = mailbox_->client();
  if (client == nullptr) return;
  if (progress.joins) return show(client, true);
  output_.send_memory(client, memory_, progress.view, memory_.newest());
  output_.send_phase(client, state_, memory_);
}

void Walk::make_chunk(const ClientPtr& client, std::chrono::duration<double> waited) {
  services_.disk.check(kChunkRoom);
  const Clock::time_point begun = Clock::now();
  WalkOutput::Times times;
  times.queue = waited.count() * 1e3;
  times.interval = state_.begin_chunk(begun);
  const Mailbox::Applied applied = mailbox_->begin_chunk();
  if (memory_.tour() != nullptr && applied.moves) end_tour();
  for (const std::optional<int64_t>& id : applied.event_ids) {
    output_.send_receipt(client, id, "camera_actions", memory_.folder().chunks());
  }

  WalkMemory::NewChunk made;
  if (memory_.tour() != nullptr) {
    const Tour::Part part = memory_.next_tour_part();
    mailbox_->set_pose(part.poses.back());
    made = memory_.show_tour(part);
  } else {
    const camera::TimeGrid grid = memory_.facts().time_grid();
    made = memory_.generate(
        mailbox_->take_poses(grid.latents_of_chunk(memory_.folder().chunks()).size()));
  }
  const ChunkRecord& record = made.record;
  times.forward = made.forward_ms;
  const Clock::time_point generated = Clock::now();
  memory_.append(record);
  const Clock::time_point stored = Clock::now();
  times.store = elapsed_ms(generated, stored);

  // Frames are sent only now that their record is on disk; they are encoded during the commit.
  const double spent = elapsed_ms(begun, stored) / 1e3 + waited.count();
  const Clock::time_point first = state_.schedule(stored, made.frames.front().size(0), spent);
  const std::shared_ptr<WalkOutput::Sent> sent = output_.send_frames(
      client, memory_, state_.pace(), record.index, made.frames, first, applied.oldest);
  const Clock::time_point handed_over = Clock::now();
  memory_.settle(made);
  const Clock::time_point committed = Clock::now();
  times.commit = elapsed_ms(handed_over, committed);
  times.total = elapsed_ms(begun, committed);
  for (size_t v = 0; v < memory_.views().size(); ++v) {
    output_.send_chunk(client, memory_, state_.pace(), v, record, times, sent);
    if (record.recorded) continue;
    services_.metrics.frames_generated += static_cast<uint64_t>(made.frames[v].size(0));
    ++services_.metrics.chunks_generated;
  }
  if (memory_.tour() != nullptr) {
    if (memory_.tour()->done()) {
      end_tour();
    } else {
      output_.send_phase(mailbox_->client(), state_, memory_);
    }
  }
  if (!record.recorded) services_.metrics.chunk_seconds.observe(times.total / 1e3);

  if (recorder_) {
    recorder_->add(made.frames);
    if (recorder_->full()) stop_recording({});
  }
  memory_.snapshot_if_due();
  if (state_.end_chunk(client->output().max_chunks)) pause("max_chunks");
}

void Walk::end_tour() {
  if (memory_.tour() == nullptr) return;
  memory_.end_tour();
  output_.send_phase(mailbox_->client(), state_, memory_);
}

void Walk::pause(const std::string& reason) {
  state_.pause(reason);
  send_state("paused", reason);
}

void Walk::resume() {
  if (state_.resume()) output_.send_phase(mailbox_->client(), state_, memory_);
}

void Walk::send_state(const std::string& name, const std::string& reason, double progress) {
  output_.send_state(mailbox_->client(), state_, memory_, name, reason, progress);
}

void Walk::keep() {
  const DeferInterrupts whole;
  if (!state_.ready() || !memory_.is_open()) return;
  if (recorder_) stop_recording({});
  memory_.snapshot_if_unsaved();
}

void Walk::leave() {
  keep();
  if (!services_.walks->retire(*this)) return;  // a client has come meanwhile
  memory_.close();
  state_.set_phase(Phase::kEnded);
}

}  // namespace loci::serve
