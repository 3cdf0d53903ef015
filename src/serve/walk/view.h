// SPDX-License-Identifier: Apache-2.0
// One model with its memory, as a walk uses it: a thin user of sample::Stream. Of the engine's
// thread.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "loci/base/config.h"
#include "loci/camera/visible_directions.h"
#include "loci/sample/recording_encoder.h"
#include "loci/sample/stream/stream.h"
#include "loci/serve/engine/models.h"
#include "loci/serve/protocol/server_messages.h"
#include "loci/serve/storage/chunk_record.h"
#include "loci/serve/storage/world_folder.h"

namespace loci::serve {

inline constexpr int64_t kThumbnailPixels = 96;  // wide

// JPEG of a frame uint8 [H, W, 3].
std::string jpeg_of(const at::Tensor& frame, int quality);
std::string thumbnail_of(const at::Tensor& frame);

class View {
 public:
  View(const ServedModel& model, const WorldFacts& facts, const ViewSettings& settings,
       const std::string& prompt, const std::string& negative);

  // A view of a world on disk, with what its snapshot holds; records from next_chunk() on are yet
  // to be replayed.
  static View open(const ServedModel& model, const WorldFolder& folder, size_t view);
  // One that makes no frames yet and replays every record of a world that began with `first`:
  // faster than open(), for what shall adopt() it, or join a view that has shown the frames.
  static View blind(const ServedModel& model, const WorldFacts& facts, const ViewSettings& settings,
                    const ChunkRecord& first);

  const ServedModel& model() const { return *model_; }
  const ViewSettings& settings() const { return settings_; }
  int64_t latents() const { return stream_->frames(); }
  int64_t next_chunk() const { return model_->time_grid().chunks_in_latents(latents()); }

  // The first frame, or the next chunk. Seconds go to where they are asked for.
  sample::Chunk start(const at::Tensor& image, const camera::Lens& lens);
  sample::Chunk push(std::span<const camera::Camera> cameras);
  // Frames of a tour, uint8 [T, H, W, 3]: the first frame, which starts the view, then chunk by
  // chunk until end_showing().
  sample::Chunk show(const at::Tensor& frames, std::span<const camera::Camera> cameras);
  void end_showing() { encoder_.reset(); }
  // Writes the newest chunk to memory.
  void settle() { stream_->settle(); }

  // From the next chunk on. The record of that chunk tells.
  void set_prompt(const std::string& prompt, const std::string& negative);
  void set_solver(const sample::SolverOptions& solver);
  void set_readout(const std::string& readout);
  void reset_memory();
  // After the record of a chunk was written.
  void recorded() { settings_.reset = false; }

  // Takes over a chunk of the past; records come in order from latents() on.
  void replay(const ChunkRecord& record, size_t view);

  // Goes on with the memory of a blind view that replayed the same records under another history.
  void adopt(View rebuilt);
  // A blind view makes frames from now on, which go on from those of `other`.
  void join(const View& other) { stream_->show_like(*other.stream_, model_->folder().vae()); }

  void save(const std::filesystem::path& file) { stream_->save(file, model_->folder().hashes()); }

  // `seen` are latents that the newest chunk attended to.
  MemoryStats memory_stats(const std::vector<int64_t>& seen);
  ViewInfo describe() const;

 private:
  View(const ServedModel& model, const ViewSettings& settings, sample::Stream stream,
       std::string prompt, std::string negative);
  // False when there is no snapshot that fits model and history, or one beyond `chunks`.
  bool load(const std::filesystem::path& file, const memory::HistoryOptions& history,
            int64_t chunks);
  // What every frame of `held` shows, kept from chunk to chunk.
  std::vector<camera::VisibleDirections> views_of(const std::vector<memory::RetainedFrame>& held,
                                                  double aspect);
  static sample::StreamOptions options_of(const WorldFacts& facts, const ViewSettings& settings,
                                          const ServedModel& model);

  const ServedModel* model_;
  ViewSettings settings_;
  std::string prompt_, negative_;
  std::optional<sample::Stream> stream_;
  std::optional<sample::RecordingEncoder> encoder_;     // of a tour, as long as it lasts
  std::map<int64_t, camera::VisibleDirections> shown_;  // by retained latent
};

}  // namespace loci::serve
