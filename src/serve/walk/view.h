// SPDX-License-Identifier: Apache-2.0
// A view of a walk: one model with its memory. It wraps sample::Stream. The engine's thread alone
// uses it.
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

inline constexpr int64_t kThumbnailWidth = 96;  // pixels

// JPEG of a frame, uint8 [H, W, 3]; the thumbnail is kThumbnailWidth wide.
std::string jpeg_of(const at::Tensor& frame, int quality);
std::string thumbnail_of(const at::Tensor& frame);

class View {
 public:
  View(const ServedModel& model, const WorldFacts& facts, const ViewSettings& settings,
       const std::string& prompt, const std::string& negative);

  // Opens a view of a stored world from its snapshot, if there is a usable one. The caller must
  // replay the records from next_chunk() on.
  static View open(const ServedModel& model, const WorldFolder& folder, size_t view);
  // A view that decodes no frames, to replay all records of a world whose first record is `first`.
  // Faster than open(). Its memory is then used by adopt(), or the view itself after join().
  static View without_decoder(const ServedModel& model, const WorldFacts& facts,
                              const ViewSettings& settings, const ChunkRecord& first);

  const ServedModel& model() const { return *model_; }
  const ViewSettings& settings() const { return settings_; }
  int64_t latents() const { return stream_->frames(); }
  int64_t next_chunk() const { return model_->time_grid().chunks_in_latents(latents()); }

  // Commits the first frame; generates the next chunk.
  sample::Chunk start(const at::Tensor& image, const camera::Lens& lens);
  sample::Chunk push(std::span<const camera::Camera> cameras);
  // Commits recorded frames of a tour, uint8 [T, H, W, 3]: first the first frame, then one chunk
  // per call until end_showing().
  sample::Chunk show(const at::Tensor& frames, std::span<const camera::Camera> cameras);
  void end_showing() { encoder_.reset(); }
  // Commits the newest chunk to memory.
  void commit() { stream_->commit(); }

  // Settings from the next chunk on; the record of that chunk contains them.
  void set_prompt(const std::string& prompt, const std::string& negative);
  void set_solver(const sample::SolverOptions& solver);
  void set_readout(const std::string& readout);
  void reset_memory();
  // Call it after the record of a chunk was written.
  void record_written() { settings_.reset = false; }

  // Commits a recorded chunk. Records must come in order from next_chunk() on.
  void replay(const ChunkRecord& record, size_t view);

  // Takes over the memory of a view without a decoder that replayed the same records under another
  // history policy.
  void adopt(View rebuilt);
  // Gives this view a decoder that continues the frames of `other`.
  void join(const View& other) { stream_->decode_after(*other.stream_, model_->folder().vae()); }

  void save(const std::filesystem::path& file) { stream_->save(file, model_->folder().hashes()); }

  // Statistics of the memory. `seen`: sorted latent frames that the newest chunk attended to.
  MemoryStats memory_stats(const std::vector<int64_t>& seen);
  ViewInfo describe() const;

 private:
  View(const ServedModel& model, const ViewSettings& settings, sample::Stream stream,
       std::string prompt, std::string negative);
  // Loads the snapshot if there is one for this model and history policy with at most `chunks`
  // chunks.
  void load(const std::filesystem::path& file, const memory::HistoryOptions& history,
            int64_t chunks);
  // The visible directions of the frames in `held`, cached between calls.
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
