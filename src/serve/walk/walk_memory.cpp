// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/walk_memory.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <ATen/ATen.h>

#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/serve/net/refusal.h"

namespace loci::serve {

namespace {

constexpr std::chrono::milliseconds kReadSlice(150);  // of reading back and of rebuilding
constexpr size_t kPathLatents = 4096;
constexpr int kStillQuality = 85, kFirstStillQuality = 90;

// Runs a function that reads a world. Details of damaged files go to the log, not to the client.
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

// The engine's thread encodes the pictures of a record itself. The record must be on disk before
// the chunk is committed, so the thread would only wait for another one to encode them.
ChunkRecord::View record_of(const View& view, const sample::Chunk& chunk,
                            const camera::TimeGrid& grid, int64_t index, int quality) {
  ChunkRecord::View part;
  part.settings = view.settings();
  part.latents = chunk.latents;
  const camera::IndexRange frames = grid.frames_of_chunk(index);
  const camera::IndexRange latents = grid.latents_of_chunk(index);
  for (int64_t latent = latents.begin; latent < latents.end; ++latent) {
    part.thumbnails.push_back(thumbnail_of(chunk.frames[grid.camera_frame(latent) - frames.begin]));
  }
  part.newest = jpeg_of(chunk.frames[frames.size() - 1], quality);
  return part;
}

}  // namespace

int64_t WalkMemory::first_latent(int64_t chunk) const {
  return facts().time_grid().latents_of_chunk(chunk).begin;
}

at::Tensor WalkMemory::create(const WorldRequest& request) {
  WorldFacts facts = request.facts();
  tour_ = request.tour(services_.starts);
  const StartPicture start = request.first_frame(services_.starts, services_.limits, tour_.get());
  facts.prompt = prompt_ = start.prompt;
  negative_ = request.negative;
  for (const WorldRequest::View& view : request.views) {
    views_.emplace_back(*view.model, facts, view.settings, prompt_, negative_);
  }
  folder_ = services_.worlds.create(facts);
  return start.image;
}

void WalkMemory::begin(const at::Tensor& first_frame) {
  ChunkRecord record;
  record.recorded = true;
  record.prompt = prompt_;
  record.negative = negative_;
  record.cameras = {{camera::Pose(), lens_of(facts())}};
  for (View& view : views_) {
    const sample::Chunk chunk = tour_ ? view.show(first_frame.unsqueeze(0), record.cameras)
                                      : view.start(first_frame, record.cameras.front().lens);
    record.views.push_back(record_of(view, chunk, facts().time_grid(), 0, kFirstStillQuality));
    seen_.emplace_back();
  }
  append(record);
  const Clock::time_point begun = Clock::now();
  for (View& view : views_) view.commit();
  schedule_.add(elapsed_ms(begun, Clock::now()) / 1e3);
  add_to_path(record);
}

void WalkMemory::open(const std::string& world) {
  std::unique_ptr<WorldFolder> found = services_.worlds.open(world);
  if (found->facts().kind == "saved") {
    const std::string copy = services_.worlds.copy(*found, "live", found->facts().name);
    found = services_.worlds.open(copy);
  }
  folder_ = std::move(found);
}

void WalkMemory::start_reading() {
  views_.clear();
  tour_.reset();  // it cannot continue: the state of its autoencoder is lost
  rebuilds_.clear();
  path_.clear();
  schedule_.saved();  // read_back() adds the chunks that the snapshots lack
  std::vector<const ServedModel*> models;
  for (const WorldFacts::View& view : facts().views) {
    models.push_back(&services_.models.maker(view.model, view.weights));
  }
  if (folder_->chunks() == 0) refuse("bad_world", "this world has no frames");
  reading([&] {
    read_ = folder_->chunks();
    for (size_t v = 0; v < models.size(); ++v) {
      views_.push_back(View::open(*models[v], *folder_, v));
      read_ = std::min(read_, views_.back().next_chunk());
    }
    // The path of the records that the snapshots hold; read_back() adds the rest.
    const auto chunks = static_cast<int64_t>(kPathLatents) / facts().chunk_latents + 1;
    for (int64_t i = std::max<int64_t>(0, read_ - chunks); i < read_; ++i) {
      add_to_path(folder_->read(i));
    }
  });
}

double WalkMemory::read_back() {
  const Clock::time_point begun = Clock::now();
  reading([&] {
    while (read_ < folder_->chunks() && Clock::now() - begun < kReadSlice) {
      const Clock::time_point chunk_begun = Clock::now();
      const ChunkRecord record = folder_->read(read_);
      for (size_t v = 0; v < views_.size(); ++v) {
        if (views_[v].latents() == first_latent(read_)) views_[v].replay(record, v);
      }
      add_to_path(record);
      ++read_;
      schedule_.add(elapsed_ms(chunk_begun, Clock::now()) / 1e3);
    }
  });
  if (read_ < folder_->chunks()) {
    return static_cast<double>(read_) / static_cast<double>(folder_->chunks());
  }
  const ChunkRecord last = newest();
  prompt_ = last.prompt;
  negative_ = last.negative;
  seen_.assign(views_.size(), {});
  return 1;
}

void WalkMemory::set_prompt(const std::string& prompt, const std::string& negative) {
  prompt_ = prompt;
  negative_ = negative;
  for (View& view : views_) view.set_prompt(prompt_, negative_);
}

std::vector<ThumbnailInfo> WalkMemory::retained_thumbnails(size_t view,
                                                           const MemoryStats& stats) const {
  std::vector<ThumbnailInfo> list;
  std::optional<ChunkRecord> record;
  for (const RetainedFrame& retained : stats.retained) {
    const int64_t frame = retained.frame;
    const int64_t chunk = facts().time_grid().chunk_of_latent(frame);
    if (!record || record->index != chunk) record = folder_->read(chunk);
    const std::vector<std::string>& thumbnails = record->views[view].thumbnails;
    const auto place = static_cast<size_t>(frame - first_latent(chunk));
    if (place >= thumbnails.size()) continue;
    list.push_back({frame, {thumbnails[place]}});
  }
  return list;
}

WalkMemory::NewChunk WalkMemory::generate(std::vector<camera::Pose> poses) {
  return make(std::move(poses), nullptr);
}

WalkMemory::NewChunk WalkMemory::show_tour(const Tour::Part& part) {
  return make(part.poses, &part.frames);
}

WalkMemory::NewChunk WalkMemory::make(std::vector<camera::Pose> poses, const at::Tensor* recorded) {
  inconsistent_ = true;
  NewChunk made;
  ChunkRecord& record = made.record;
  record.index = folder_->chunks();
  record.prompt = prompt_;
  record.negative = negative_;
  record.recorded = recorded != nullptr;
  record.cameras = camera::with_lens(poses, lens_of(facts()));
  seen_.clear();
  for (View& view : views_) {
    const Clock::time_point begun = Clock::now();
    const sample::Chunk chunk =
        record.recorded ? view.show(*recorded, record.cameras) : view.push(record.cameras);
    made.forward_ms += elapsed_ms(begun, Clock::now());
    made.decode_seconds += chunk.decode_seconds;
    made.frames.push_back(chunk.frames);
    seen_.push_back(chunk.visible);
    record.views.push_back(
        record_of(view, chunk, facts().time_grid(), record.index, kStillQuality));
  }
  return made;
}

void WalkMemory::append(const ChunkRecord& record) { services_.disk.add(folder_->append(record)); }

void WalkMemory::settle(const NewChunk& made) {
  const Clock::time_point begun = Clock::now();
  for (View& view : views_) {
    view.commit();
    view.record_written();
  }
  inconsistent_ = false;
  add_to_path(made.record);
  // A replay decodes and commits the chunk; it does not generate it.
  schedule_.add(made.decode_seconds + elapsed_ms(begun, Clock::now()) / 1e3);
}

void WalkMemory::add_to_path(const ChunkRecord& record) {
  for (const camera::Camera& camera : record.cameras) path_.push_back(camera.pose);
  while (path_.size() > kPathLatents) path_.pop_front();
}

Tour::Part WalkMemory::next_tour_part() {
  inconsistent_ = true;  // a part that is not shown cannot be rendered again
  return tour_->next();
}

void WalkMemory::end_tour() {
  tour_.reset();
  for (View& view : views_) view.end_showing();
}

void WalkMemory::change_history(size_t view, const memory::HistoryOptions& history) {
  ViewSettings settings = views_[view].settings();
  settings.history = history;
  std::erase_if(rebuilds_, [view](const Rebuild& rebuild) { return rebuild.view == view; });
  rebuilds_.push_back(
      {view, View::without_decoder(views_[view].model(), facts(), settings, folder_->read(0))});
}

void WalkMemory::add_second(const WorldRequest::View& second) {
  drop_second();
  folder_->set_views(
      {facts().views.front(),
       {second.model->id(), second.model->weights(), folder_->chunks(), second.settings}});
  rebuilds_.push_back(
      {1, View::without_decoder(*second.model, facts(), second.settings, folder_->read(0))});
}

void WalkMemory::drop_second() {
  std::erase_if(rebuilds_, [](const Rebuild& rebuild) { return rebuild.view > 0; });
  views_.erase(views_.begin() + 1, views_.end());
  seen_.resize(1);
  folder_->set_views({facts().views.front()});
}

WalkMemory::RebuildProgress WalkMemory::replay_rebuild() {
  Rebuild& rebuild = rebuilds_.front();
  const Clock::time_point begun = Clock::now();
  while (rebuild.next < folder_->chunks() && Clock::now() - begun < kReadSlice) {
    rebuild.fresh.replay(folder_->read(rebuild.next), rebuild.view);
    ++rebuild.next;
  }
  return {.view = rebuild.view,
          .joins = rebuild.view == views_.size(),
          .share = static_cast<double>(rebuild.next) / static_cast<double>(folder_->chunks())};
}

void WalkMemory::finish_rebuild() {
  Rebuild& rebuild = rebuilds_.front();
  if (rebuild.view == views_.size()) {
    rebuild.fresh.join(views_.front());
    rebuild.fresh.set_prompt(prompt_, negative_);
    views_.push_back(std::move(rebuild.fresh));
    seen_.emplace_back();
  } else {
    views_[rebuild.view].adopt(std::move(rebuild.fresh));
  }
  rebuilds_.pop_front();
  snapshot();
}

void WalkMemory::snapshot() {
  try {
    for (size_t v = 0; v < views_.size(); ++v) views_[v].save(folder_->snapshot(v));
    schedule_.saved();
    ++services_.metrics.snapshots;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    log_warning("no snapshot: {}", error.what());
  }
}

void WalkMemory::snapshot_if_due() {
  if (schedule_.due() && rebuilds_.empty() && !inconsistent_) snapshot();
}

void WalkMemory::snapshot_if_unsaved() {
  if (schedule_.unsaved() && rebuilds_.empty() && !inconsistent_) snapshot();
}

bool WalkMemory::recover() {
  rebuilds_.clear();
  if (facts().views.size() > views_.size()) drop_second();
  if (!std::exchange(inconsistent_, false)) return false;
  start_reading();
  return true;
}

void WalkMemory::close() {
  folder_.reset();
  rebuilds_.clear();
  views_.clear();
  tour_.reset();
}

}  // namespace loci::serve
