// SPDX-License-Identifier: Apache-2.0
// The memory of a walk: its views, its world on disk, and how the views are rebuilt from records.
#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "loci/serve/engine/services.h"
#include "loci/serve/walk/snapshot_schedule.h"
#include "loci/serve/walk/tour.h"
#include "loci/serve/walk/view.h"
#include "loci/serve/walk/world_request.h"

namespace loci::serve {

// The engine's thread alone uses it; after the engine has stopped, the thread that stopped it.
//
// A chunk is committed in this order: generate() or show_tour(), append(), settle(). The record is
// on disk when append() returns. If anything throws after the first step, the views hold a chunk
// that the records or other views do not have: recover() then discards the views and has them read
// back from the records.
class WalkMemory {
 public:
  explicit WalkMemory(Services& services)
      : services_(services),
        schedule_(services.limits.snapshot_chunks, services.limits.replay_seconds) {}

  // A new world. create() makes its folder and views and returns the first frame, uint8 [H, W, 3];
  // begin() writes the first record and commits it.
  at::Tensor create(const WorldRequest& request);
  void begin(const at::Tensor& first_frame);

  // A stored world: open() takes its lock, and copies it first if it is a saved one.
  // start_reading() opens the views from their snapshots; read_back() replays the records that
  // snapshots lack, for one time slice, and returns the share that is done. At 1 the views are
  // complete. Damaged files are refused ("bad_world").
  void open(const std::string& world);
  void start_reading();
  double read_back();

  WorldFolder& folder() { return *folder_; }
  const WorldFolder& folder() const { return *folder_; }
  const WorldFacts& facts() const { return folder_->facts(); }
  bool is_open() const { return folder_ != nullptr; }
  std::vector<View>& views() { return views_; }
  const std::vector<View>& views() const { return views_; }
  const std::string& prompt() const { return prompt_; }
  void set_prompt(const std::string& prompt, const std::string& negative);
  const std::string& negative() const { return negative_; }
  // Poses of the newest latent frames, oldest first.
  const std::deque<camera::Pose>& path() const { return path_; }
  ChunkRecord newest() const { return folder_->read(folder_->chunks() - 1); }
  // Index of a chunk's first latent frame since the start of the world.
  int64_t first_latent(int64_t chunk) const;
  // View::memory_stats() of a view.
  MemoryStats stats_of(size_t view) { return views_[view].memory_stats(seen_[view]); }
  // Thumbnails of the frames that `stats`, a result of stats_of(), lists.
  std::vector<ThumbnailInfo> retained_thumbnails(size_t view, const MemoryStats& stats) const;

  // The rest of a tour; null without one. end_tour() is final.
  const Tour* tour() const { return tour_.get(); }
  // Renders the tour's next chunk, for show_tour().
  Tour::Part next_tour_part();
  void end_tour();

  // The next chunk, not yet on disk.
  struct NewChunk {
    ChunkRecord record;
    std::vector<at::Tensor> frames;  // by view, uint8 [T, H, W, 3]
    double forward_ms = 0;
    double decode_seconds = 0;  // part of forward_ms
  };
  NewChunk generate(std::vector<camera::Pose> poses);
  NewChunk show_tour(const Tour::Part& part);
  // Writes the record to disk.
  void append(const ChunkRecord& record);
  // Commits the chunk to the memory of every view.
  void settle(const NewChunk& made);

  // Rebuilds from the records: the memory of a view under another history policy, or a second view
  // that joins the first. replay_rebuild() replays records for one time slice. finish_rebuild()
  // replaces the memory or adds the view once all records are replayed.
  void change_history(size_t view, const memory::HistoryOptions& history);
  void add_second(const WorldRequest::View& second);
  void drop_second();
  bool rebuilding() const { return !rebuilds_.empty(); }
  struct RebuildProgress {
    size_t view = 0;
    bool joins = false;  // a second view, else a changed history
    double share = 0;    // of the records, 1: all
  };
  RebuildProgress replay_rebuild();
  void finish_rebuild();

  // Saves the memory of every view beside the records. A failure is only logged: the next start
  // then reads more records.
  void snapshot();
  // Call snapshot() if the newest one is too old, or older than the newest chunk, and the views are
  // consistent.
  void snapshot_if_due();
  void snapshot_if_unsaved();

  // After an error: cancels rebuilds and removes a second view that has not joined. True if views
  // and records may differ; start_reading() has then been called.
  bool recover();
  // Continues in a copy of the world with the same chunks.
  void move_to(std::unique_ptr<WorldFolder> folder) { folder_ = std::move(folder); }
  // Releases the world and the memory.
  void close();

 private:
  struct Rebuild {
    size_t view;
    View fresh;
    int64_t next = 0;  // record to replay
  };
  NewChunk make(std::vector<camera::Pose> poses, const at::Tensor* recorded);
  void add_to_path(const ChunkRecord& record);

  Services& services_;
  std::unique_ptr<WorldFolder> folder_;
  std::vector<View> views_;
  std::vector<std::vector<int64_t>> seen_;  // by view: latents that the newest chunk attended to
  std::unique_ptr<Tour> tour_;
  std::deque<Rebuild> rebuilds_;
  std::string prompt_, negative_;
  std::deque<camera::Pose> path_;
  int64_t read_ = 0;  // records that the views hold while they are read back
  SnapshotSchedule schedule_;
  bool inconsistent_ = false;  // a view has a chunk that the records or other views do not have
};

}  // namespace loci::serve
