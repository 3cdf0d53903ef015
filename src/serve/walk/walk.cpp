// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/walk.h"

#include <algorithm>

#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/walk/sessions.h"

namespace loci::serve {

namespace {

constexpr uint64_t kChunkRoom = uint64_t{1} << 20;  // bytes that must be free for a chunk

Clock::duration seconds(double value) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(value));
}

double milliseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace

Walk::Walk(Services& services, WorldRequest request)
    : services_(services), request_(std::move(request)), alone_since_(Clock::now()) {
  ++services_.metrics.walks_in_memory;
}

Walk::~Walk() { --services_.metrics.walks_in_memory; }

std::shared_ptr<Client> Walk::client() const {
  const std::lock_guard lock(mutex_);
  return client_;
}

bool Walk::attached() const { return client() != nullptr; }

void Walk::attach(std::shared_ptr<Client> client) {
  std::shared_ptr<Client> before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(client_, std::move(client));
    if (before != nullptr) let_go();
    greet_ = true;
    last_input_ = Clock::now();
  }
  if (before != nullptr) before->close(kTakenOver, "the world was opened by another connection");
  services_.engine.wake();
}

void Walk::detach(const Client& client) {
  {
    const std::lock_guard lock(mutex_);
    if (client_.get() != &client) return;
    client_.reset();
    let_go();
    alone_since_ = Clock::now();
  }
  services_.engine.wake();
}

void Walk::let_go() {
  inbox_.clear();
  unapplied_.clear();
  oldest_control_.reset();
  if (controls_) controls_->release();
}

bool Walk::wants_chunk() const {
  return phase_ == Phase::kReady && rebuilds_.empty() && (!paused_ || steps_left_ > 0);
}

bool Walk::idle() const {
  const std::lock_guard lock(mutex_);
  return Clock::now() - last_input_ > seconds(services_.limits.pause_seconds);
}

bool Walk::lingered() const {
  const std::lock_guard lock(mutex_);
  return Clock::now() >= alone_since_ + seconds(services_.limits.linger_seconds);
}

std::optional<Clock::time_point> Walk::due() {
  const std::lock_guard lock(mutex_);
  if (client_ == nullptr) return alone_since_ + seconds(services_.limits.linger_seconds);
  if (phase_ != Phase::kReady || !rebuilds_.empty() || !inbox_.empty() || greet_ ||
      (awake_ && paused_)) {
    return Clock::time_point();
  }
  if (!wants_chunk()) return std::nullopt;
  if (!client_->output().paced) return Clock::time_point();
  return pace_.next_begin();
}

void Walk::turn(std::chrono::duration<double> waited) {
  const std::shared_ptr<Client> client = this->client();
  if (client == nullptr) {
    if (lingered()) leave();
    return;
  }
  try {
    run_turn(*client, waited);
  } catch (const Interrupted&) {
    throw;
  } catch (...) {
    const Told told = tell_exception("a walk");
    if (told.code == "internal") ++services_.metrics.errors;
    if (phase_ != Phase::kReady) {
      if (const std::shared_ptr<Client> last = end()) {
        last->send_error(told.code, told.message, true);
        last->close(told.code == "internal" ? kInternal : kDone, told.message);
      }
      return;
    }
    client->send_error(told.code, told.message, false);
    pause(told.code == "storage" ? "storage" : "error");
    rebuilds_.clear();
    if (folder_->facts().views.size() > views_.size()) drop_second();
    // Memories are ahead of the records, or of each other: the records count.
    if (std::exchange(torn_, false)) prepare_reading();
  }
}

void Walk::failed() {
  if (const std::shared_ptr<Client> client = end()) {
    client->close(kInternal, "something went wrong in the server");
  }
}

std::shared_ptr<Client> Walk::end() {
  services_.sessions->forget(*this);
  folder_.reset();
  phase_ = Phase::kGone;
  return client();
}

void Walk::run_turn(Client& client, std::chrono::duration<double> waited) {
  if (phase_ == Phase::kNew) return begin();
  if (phase_ == Phase::kReading) return read_back();
  std::deque<Incoming> inbox;
  bool greet = false, awake = false;
  {
    const std::lock_guard lock(mutex_);
    inbox.swap(inbox_);
    greet = std::exchange(greet_, false);
    awake = std::exchange(awake_, false);
  }
  if (greet) {
    paused_ = client.output().paused;
    pause_reason_ = "client";
    steps_left_ = 0;
    last_event_ = nullptr;
    show(client, true);
  }
  if (awake && paused_ && pause_reason_ == "idle") resume();
  for (const Incoming& incoming : inbox) {
    try {
      handle(incoming.message);
    } catch (const Refusal& refusal) {
      client.send_error(refusal.code(), refusal.what(), false,
                        incoming.message.value("event_id", Json()),
                        incoming.message.value("request_id", Json()));
    }
  }
  if (!rebuilds_.empty()) return rebuild_step();
  if (!wants_chunk()) return;
  if (client.output().paced && Clock::now() < pace_.next_begin()) return;
  if (!paused_ && idle()) return pause("idle");
  make_chunk(client, waited);
}

ChunkRecord Walk::generate(std::vector<at::Tensor>& frames, Times& times) {
  ChunkRecord record;
  record.index = folder_->chunks();
  record.prompt = prompt_;
  record.negative = negative_;
  record.given = tour_ != nullptr;
  Tour::Part tour;
  if (tour_) {
    tour = tour_->next();
    record.poses = tour.poses;
    const std::lock_guard lock(mutex_);
    controls_->set_pose(record.poses.back());
  } else {
    const std::lock_guard lock(mutex_);
    record.poses = controls_->take(folder_->facts().chunk_latents);
  }
  record.lenses.assign(record.poses.size(), lens_of(folder_->facts()));
  seen_.clear();
  for (View& view : views_) {
    const Clock::time_point begun = Clock::now();
    const sample::Chunk chunk = record.given ? view.show(tour.frames, record.poses, record.lenses)
                                             : view.push(record.poses, record.lenses);
    times.forward += milliseconds(begun, Clock::now());
    frames.push_back(chunk.frames);
    seen_.push_back(chunk.visible);
    ChunkRecord::View part;
    part.settings = view.settings();
    part.latents = chunk.latents;
    const int64_t step = folder_->facts().frames_per_latent;
    for (int64_t i = step - 1; i < chunk.frames.size(0); i += step) {
      part.thumbnails.push_back(thumbnail_of(chunk.frames[i]));
    }
    part.newest = jpeg_of(chunk.frames[chunk.frames.size(0) - 1], 85);
    record.views.push_back(std::move(part));
  }
  return record;
}

void Walk::make_chunk(Client& client, std::chrono::duration<double> waited) {
  services_.disk.check(kChunkRoom);
  const Clock::time_point begun = Clock::now();
  Times times;
  times.queue = waited.count() * 1e3;
  if (begun_ != Clock::time_point()) times.interval = milliseconds(begun_, begun);
  begun_ = begun;
  std::vector<Json> applied;
  std::optional<Clock::time_point> oldest;
  bool moves = false;
  {
    const std::lock_guard lock(mutex_);
    applied.swap(unapplied_);
    oldest.swap(oldest_control_);
    moves = controls_->active();
  }
  if (tour_ && moves) end_tour();
  for (const Json& id : applied) {
    if (id.is_null()) continue;
    last_event_ = id;
    client.send({{"type", "receipt"},
                 {"event_id", id},
                 {"kind", "camera_actions"},
                 {"status", "applied"},
                 {"chunk_index", folder_->chunks()}});
  }
  std::vector<at::Tensor> frames;
  torn_ = true;
  const ChunkRecord record = generate(frames, times);
  const Clock::time_point made = Clock::now();
  services_.disk.add(folder_->append(record));
  const Clock::time_point stored = Clock::now();
  times.store = milliseconds(made, stored);

  const double spent = std::chrono::duration<double>(stored - begun).count() + waited.count();
  const Clock::time_point first = pace_.add(stored, frames.front().size(0), spent);
  std::vector<size_t> bytes;
  for (size_t v = 0; v < views_.size(); ++v) {
    bytes.push_back(send_frames(client, v, frames[v], record.index, first));
  }
  times.encode = milliseconds(stored, Clock::now());
  Json latency;
  if (oldest) {
    latency = milliseconds(*oldest, std::max(first, Clock::now()));
    services_.metrics.control_latency_seconds.observe(latency.get<double>() / 1e3);
  }
  const Clock::time_point sent = Clock::now();
  for (View& view : views_) {
    view.settle();
    view.recorded();
  }
  torn_ = false;
  add_to_path(record);
  const Clock::time_point done = Clock::now();
  times.commit = milliseconds(sent, done);
  times.total = milliseconds(begun, done);
  for (size_t v = 0; v < views_.size(); ++v) {
    send_thumbnails(client, v, first_latent(record.index), record.views[v].thumbnails);
    send_stats(client, v, record, &times, latency, bytes[v], views_[v].memory_stats(seen_[v]));
    if (record.given) continue;
    services_.metrics.frames_generated += static_cast<uint64_t>(frames[v].size(0));
    ++services_.metrics.chunks_generated;
  }
  if (tour_) {
    if (tour_->done()) {
      end_tour();
    } else {
      send_phase();
    }
  }
  if (!record.given) services_.metrics.chunk_seconds.observe(times.total / 1e3);

  if (recorder_) {
    recorder_->add(frames);
    if (recorder_->full()) stop_recording({});
  }
  if (++unsaved_ >= services_.limits.snapshot_chunks) snapshot();
  ++made_;
  if (paused_) {
    --steps_left_;
  } else if (client.output().max_chunks > 0 && made_ >= client.output().max_chunks) {
    pause("max_chunks");
  }
}

void Walk::add_to_path(const ChunkRecord& record) {
  constexpr size_t kMost = 4096;
  path_.insert(path_.end(), record.poses.begin(), record.poses.end());
  while (path_.size() > kMost) path_.pop_front();
}

void Walk::end_tour() {
  if (tour_ == nullptr) return;
  tour_.reset();
  for (View& view : views_) view.end_showing();
  send_phase();
}

void Walk::pause(const std::string& reason) {
  paused_ = true;
  pause_reason_ = reason;
  steps_left_ = 0;
  pace_.forget();
  send_state("paused", reason);
}

void Walk::resume() {
  if (!paused_) return;
  paused_ = false;
  made_ = 0;
  begun_ = Clock::time_point();
  send_phase();
}

void Walk::snapshot() {
  try {
    for (size_t v = 0; v < views_.size(); ++v) views_[v].save(folder_->snapshot(v));
    unsaved_ = 0;
    ++services_.metrics.snapshots;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    // The records hold everything; reading them back takes longer, that is all.
    log_warning("no snapshot: {}", error.what());
  }
}

void Walk::keep() {
  const DeferInterrupts whole;
  if (phase_ != Phase::kReady || folder_ == nullptr) return;
  if (recorder_) stop_recording({});
  if (unsaved_ > 0 && rebuilds_.empty() && !torn_) snapshot();
}

void Walk::leave() {
  keep();
  // A client may have come meanwhile.
  if (!services_.sessions->retire(*this)) return;
  views_.clear();
  tour_.reset();
  folder_.reset();
  phase_ = Phase::kGone;
}

}  // namespace loci::serve
