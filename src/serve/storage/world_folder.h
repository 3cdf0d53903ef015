// SPDX-License-Identifier: Apache-2.0
// A world on disk: world.json, the chunk records, and a snapshot of every view's memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "loci/base/file_lock.h"
#include "loci/camera/time_grid.h"
#include "loci/serve/storage/chunk_record.h"

namespace loci::serve {

// Content of world.json. Only the name and the second view ever change.
struct WorldFacts {
  std::string id, kind = "live";  // or "saved"
  std::string name, parent;
  int64_t created = 0;  // seconds since 1970
  int64_t width = 0, height = 0;
  double fps = 16, fov = 90;
  double guidance = 1;
  uint64_t seed = 42;
  std::string prompt;  // of the start
  int64_t chunk_latents = 5, frames_per_latent = 4;
  bool given_in_chunk = false, camera_at_start = false;  // see camera::TimeGrid
  camera::TimeGrid time_grid() const {
    return {frames_per_latent, chunk_latents, given_in_chunk, camera_at_start};
  }
  struct View {
    std::string model, weights;
    // For a view that joined later: the index of its first own chunk. Before that it has the
    // latents of view 0, read with these settings.
    int64_t since = 0;
    ViewSettings settings;
  };
  std::vector<View> views;

  Json to_json() const;
  static WorldFacts from_json(const Json& json, const std::string& where);
};

// An open world. Only the object that holds the lock may change the world. Not thread-safe.
class WorldFolder {
 public:
  // Ignores the chunks after the first `most_chunks`.
  WorldFolder(std::filesystem::path path, WorldFacts facts, FileLock lock,
              int64_t most_chunks = INT64_MAX);

  const std::string& id() const { return facts_.id; }
  const WorldFacts& facts() const { return facts_; }
  const std::filesystem::path& path() const { return path_; }

  // Number of chunks on disk, counted from 0 without a gap.
  int64_t chunks() const { return chunks_; }
  ChunkRecord read(int64_t index) const;
  // Writes the next record to disk and returns its size in bytes.
  uint64_t append(const ChunkRecord& record);
  // Changes the views from the next chunk on; view 0 must stay. Snapshots of the others are
  // deleted.
  void set_views(std::vector<WorldFacts::View> views);
  // Path of the snapshot of a view's memory; see sample::Stream::save().
  std::filesystem::path snapshot(size_t view) const;

  // The layout of a world's folder, for readers without the lock.
  static std::filesystem::path chunk_file(const std::filesystem::path& world, int64_t index);
  static int64_t count_chunks(const std::filesystem::path& world);
  // A record with one part for every current view of the world.
  static ChunkRecord read_record(const std::filesystem::path& world, const WorldFacts& facts,
                                 int64_t index);
  static WorldFacts read_facts(const std::filesystem::path& world);
  static void write_facts(const std::filesystem::path& world, const WorldFacts& facts);

 private:
  std::filesystem::path path_;
  WorldFacts facts_;
  FileLock lock_;
  int64_t chunks_ = 0;
};

}  // namespace loci::serve
