// SPDX-License-Identifier: Apache-2.0
// How a walk begins, and how it goes on where an earlier one ended.
#include <algorithm>

#include "loci/base/log.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/walk/sessions.h"
#include "loci/serve/walk/walk.h"

namespace loci::serve {

namespace {

constexpr std::chrono::milliseconds kTurn(150);  // of reading back, before others have their turn

// Runs what reads a world; complaints about its files are for the log.
template <typename Function>
void reading(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadInput) throw;
    log_error("reading a world: {}", error.what());
    refuse("bad_world", "this world is damaged");
  }
}

}  // namespace

int64_t Walk::first_latent(int64_t chunk) const {
  return chunk == 0 ? 0 : 1 + (chunk - 1) * folder_->facts().chunk_latents;
}

void Walk::begin() {
  ++services_.metrics.worlds_opened;
  send_state("starting", "", 0);
  if (request_.world.empty()) {
    begin_new();
  } else {
    begin_stored();
  }
}

void Walk::begin_new() {
  WorldFacts facts = request_.facts();
  tour_ = request_.tour(services_.starts);
  const StartPicture start = request_.first_frame(services_.starts, services_.limits, tour_.get());
  facts.prompt = prompt_ = start.prompt;
  negative_ = request_.negative;
  for (const WorldRequest::View& view : request_.views) {
    views_.emplace_back(*view.model, facts, view.settings, prompt_, negative_);
  }
  folder_ = services_.worlds.create(facts);
  services_.sessions->name(*this, folder_->id());
  ChunkRecord record;
  record.given = true;
  record.prompt = prompt_;
  record.negative = negative_;
  record.poses.resize(1);
  record.lenses.assign(1, lens_of(facts));
  for (View& view : views_) {
    const sample::Chunk chunk =
        tour_ ? view.show(start.image.unsqueeze(0), record.poses, record.lenses)
              : view.start(start.image, record.lenses.front());
    ChunkRecord::View part;
    part.settings = view.settings();
    part.latents = chunk.latents;
    part.thumbnails.push_back(thumbnail_of(chunk.frames[0]));
    part.newest = jpeg_of(chunk.frames[0], 90);
    record.views.push_back(std::move(part));
    seen_.emplace_back();
  }
  services_.disk.add(folder_->append(record));
  for (View& view : views_) view.settle();
  add_to_path(record);
  unsaved_ = 1;
  request_.picture.clear();
  become_ready(false);
}

void Walk::begin_stored() {
  std::unique_ptr<WorldFolder> found = services_.worlds.open(request_.world);
  if (found->facts().kind == "saved") {
    const std::string copy = services_.worlds.copy(*found, "live", found->facts().name);
    found = services_.worlds.open(copy);
  }
  folder_ = std::move(found);
  services_.sessions->name(*this, folder_->id());
  prepare_reading();
}

void Walk::prepare_reading() {
  phase_ = Phase::kReading;
  views_.clear();
  tour_.reset();  // it cannot go on: the encoders have seen its frames and are gone
  rebuilds_.clear();
  path_.clear();
  const WorldFacts& facts = folder_->facts();
  std::vector<const ServedModel*> models;
  for (const WorldFacts::View& view : facts.views) {
    models.push_back(&services_.models.maker(view.model, view.weights));
  }
  if (folder_->chunks() == 0) refuse("bad_world", "this world was never begun");
  reading([&] {
    read_ = folder_->chunks();
    for (size_t v = 0; v < models.size(); ++v) {
      views_.push_back(View::open(*models[v], *folder_, v));
      read_ = std::min(read_, views_.back().next_chunk());
    }
    // The path of what the snapshots hold; the rest comes as it is read.
    const int64_t shown = std::max<int64_t>(0, read_ - 4096 / facts.chunk_latents - 1);
    for (int64_t i = shown; i < read_; ++i) add_to_path(folder_->read(i));
  });
}

void Walk::read_back() {
  const Clock::time_point begun = Clock::now();
  reading([&] {
    while (read_ < folder_->chunks() && Clock::now() - begun < kTurn) {
      const ChunkRecord record = folder_->read(read_);
      for (size_t v = 0; v < views_.size(); ++v) {
        if (views_[v].latents() == first_latent(read_)) views_[v].replay(record, v);
      }
      add_to_path(record);
      ++read_;
      ++unsaved_;
    }
  });
  if (read_ < folder_->chunks()) {
    send_state("starting", "", static_cast<double>(read_) / static_cast<double>(folder_->chunks()));
    return;
  }
  become_ready(true);
}

void Walk::become_ready(bool resumed) {
  phase_ = Phase::kReady;
  const WorldFacts& facts = folder_->facts();
  if (resumed) {
    const ChunkRecord newest = folder_->read(folder_->chunks() - 1);
    prompt_ = newest.prompt;
    negative_ = newest.negative;
    seen_.assign(views_.size(), {});
  }
  const std::shared_ptr<Client> client = this->client();
  {
    const std::lock_guard lock(mutex_);
    const bool again = controls_.has_value();
    if (!again) {
      controls_.emplace(facts.fps, facts.frames_per_latent, services_.limits.script_frames);
      if (client != nullptr && client->output().paused) {
        paused_ = true;
        pause_reason_ = "client";
      }
    }
    controls_->set_pose(path_.back());
    greet_ = false;
  }
  if (client == nullptr) return;
  pace_.start(client->output().fps > 0 ? client->output().fps : facts.fps);
  show(*client, resumed);
}

void Walk::show(Client& client, bool resumed) {
  pace_.start(client.output().fps > 0 ? client.output().fps : folder_->facts().fps);
  made_ = 0;
  begun_ = Clock::time_point();
  const ChunkRecord newest = folder_->read(folder_->chunks() - 1);
  send_session(client, resumed);
  for (size_t v = 0; v < views_.size(); ++v) {
    send_still(client, v, newest.views[v].newest, newest.index);
  }
  for (size_t v = 0; v < views_.size(); ++v) send_memory(client, v, newest);
  send_phase();
}

void Walk::rebuild_step() {
  Rebuild& rebuild = rebuilds_.front();
  const Clock::time_point begun = Clock::now();
  while (rebuild.next < folder_->chunks() && Clock::now() - begun < kTurn) {
    rebuild.fresh.replay(folder_->read(rebuild.next), rebuild.view);
    ++rebuild.next;
  }
  const bool joins = rebuild.view == views_.size();
  if (rebuild.next < folder_->chunks()) {
    send_state("starting", joins ? "split" : "history",
               static_cast<double>(rebuild.next) / static_cast<double>(folder_->chunks()));
    return;
  }
  const size_t view = rebuild.view;
  if (joins) {
    end_tour();  // the joining view has no encoder that has seen its frames
    rebuild.fresh.join(views_.front());
    rebuild.fresh.set_prompt(prompt_, negative_);
    views_.push_back(std::move(rebuild.fresh));
    seen_.emplace_back();
  } else {
    views_[view].adopt(std::move(rebuild.fresh));
  }
  rebuilds_.pop_front();
  snapshot();
  const std::shared_ptr<Client> client = this->client();
  if (client == nullptr) return;
  if (joins) return show(*client, true);
  send_memory(*client, view, folder_->read(folder_->chunks() - 1));
  send_phase();
}

void Walk::drop_second() {
  std::erase_if(rebuilds_, [](const Rebuild& rebuild) { return rebuild.view > 0; });
  views_.erase(views_.begin() + 1, views_.end());
  seen_.resize(1);
  folder_->set_views({folder_->facts().views.front()});
}

}  // namespace loci::serve
