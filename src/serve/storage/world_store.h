// SPDX-License-Identifier: Apache-2.0
// All worlds of a data folder, which several servers may share.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "loci/serve/net/limits.h"
#include "loci/serve/net/metrics.h"
#include "loci/serve/storage/shelf.h"
#include "loci/serve/storage/world_folder.h"

namespace loci::serve {

// How many bytes the data folder holds, and whether more may be written. Safe in any thread.
class DiskBudget {
 public:
  DiskBudget(std::filesystem::path folder, const Limits& limits, Metrics& metrics);

  // Refuses ("storage") what would exceed the limit or fill the disk.
  void check(uint64_t bytes) const;
  void add(uint64_t bytes);
  // Counts again; others may write to the folder, too.
  void recount();

 private:
  std::filesystem::path folder_;
  uint64_t limit_;
  Metrics& metrics_;
};

// Safe in any thread.
class WorldStore {
 public:
  WorldStore(const std::filesystem::path& data, const Limits& limits, DiskBudget& disk);

  // A new live world, empty.
  std::unique_ptr<WorldFolder> create(WorldFacts facts);
  // Refused: "not_found"; "busy" while another holds it; "bad_world" where it cannot be read.
  std::unique_ptr<WorldFolder> open(const std::string& id);
  // To read alone, at most so many chunks, whoever walks it. Refused as open() does, but for
  // "busy".
  std::unique_ptr<WorldFolder> look(const std::string& id, int64_t most_chunks = INT64_MAX) const;
  // Whether opening it goes on in it, not in a copy. Refused ("not_found") if it is not there.
  bool is_live(const std::string& id) const;
  // A world of its own with all chunks of `from`, which share their bytes on disk. `fill` may write
  // snapshots into the folder before the world appears; others are taken over. Gives its id.
  using Fill = std::function<void(const std::filesystem::path& folder)>;
  std::string copy(const WorldFolder& from, const std::string& kind, const std::string& name,
                   const Fill& fill = {});

  // For /v1/worlds; newest first, at most 200.
  Json list() const;
  Json describe(const std::string& id) const;
  void rename(const std::string& id, const std::string& name);
  void remove(const std::string& id);
  // JPEG.
  std::string picture(const std::string& id) const;
  std::string thumbnail(const std::string& id, size_t view, int64_t latent) const;

  // Deletes live worlds that nobody holds and nobody has walked for `keep_hours`.
  void sweep();

  // Tells which worlds are walked here.
  void set_open_test(std::function<bool(const std::string&)> test) { is_open_ = std::move(test); }

 private:
  Json describe(const std::filesystem::path& folder) const;
  // Removes a world's folder and what is known of it.
  void forget(const std::filesystem::path& folder);
  uint64_t bytes_of(const std::filesystem::path& folder, int64_t chunks) const;

  Shelf shelf_;
  Limits limits_;
  DiskBudget& disk_;
  std::function<bool(const std::string&)> is_open_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::pair<int64_t, uint64_t>> sizes_;  // by id: chunks, bytes
};

}  // namespace loci::serve
