// SPDX-License-Identifier: Apache-2.0
// A world on disk: world.json, chunks/, and a snapshot of every view's memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "loci/serve/storage/chunk_record.h"

namespace loci::serve {

// world.json: what never changes, and the name.
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
  struct View {
    std::string model, weights;
    // A view that joined later: its first own chunk. Before that it has the latents of view 0, read
    // under these settings.
    int64_t since = 0;
    ViewSettings settings;
  };
  std::vector<View> views;

  Json to_json() const;
  static WorldFacts from_json(const Json& json, const std::string& where);
};

// An exclusive hold on a file, across processes and machines that share the folder; the system lets
// go of it when the process ends, however it ends.
class FileLock {
 public:
  FileLock() = default;
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();
  // Empty when somebody else holds it, or when the file cannot be opened.
  static FileLock try_lock(const std::filesystem::path& file);
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

// A world that this object alone may change, if it holds the lock.
class WorldFolder {
 public:
  // Looks at no more than `most_chunks`.
  WorldFolder(std::filesystem::path path, WorldFacts facts, FileLock lock,
              int64_t most_chunks = INT64_MAX);

  const std::string& id() const { return facts_.id; }
  const WorldFacts& facts() const { return facts_; }
  const std::filesystem::path& path() const { return path_; }

  // Chunks that are on disk, from 0 without a gap.
  int64_t chunks() const { return chunks_; }
  ChunkRecord read(int64_t index) const;
  // Gives the bytes written.
  uint64_t append(const ChunkRecord& record);
  // Other views from the next chunk on; view 0 stays. Snapshots of the others are forgotten.
  void set_views(std::vector<WorldFacts::View> views);
  // Where a view's memory is kept; see sample::Stream::save().
  std::filesystem::path snapshot(size_t view) const;

  // Layout, shared with those that only look.
  static std::filesystem::path chunk_file(const std::filesystem::path& world, int64_t index);
  static int64_t count_chunks(const std::filesystem::path& world);
  // A chunk with a part for every view of the world, as it is now.
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
