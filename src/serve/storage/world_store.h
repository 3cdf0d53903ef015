// SPDX-License-Identifier: Apache-2.0
// All worlds of a data folder. Several servers may share the folder.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "loci/serve/net/limits.h"
#include "loci/serve/net/metrics.h"
#include "loci/serve/protocol/server_messages.h"
#include "loci/serve/storage/shelf.h"
#include "loci/serve/storage/world_folder.h"

namespace loci::serve {

// Limits the bytes in the data folder. Any thread may call every function.
class DiskBudget {
 public:
  DiskBudget(std::filesystem::path folder, const Limits& limits, Metrics& metrics);

  // Refuses ("storage") if `bytes` more would exceed the limit or fill the disk.
  void check(uint64_t bytes) const;
  void add(uint64_t bytes);
  // Counts the bytes on disk again; other servers may have written, too.
  void recount();

 private:
  std::filesystem::path folder_;
  uint64_t limit_;
  Metrics& metrics_;
};

// Any thread may call every function.
class WorldStore {
 public:
  WorldStore(const std::filesystem::path& data, const Limits& limits, DiskBudget& disk);

  // Creates an empty live world and locks it.
  std::unique_ptr<WorldFolder> create(WorldFacts facts);
  // Opens and locks a world. Refused: "not_found"; "busy" while another process or walk holds the
  // lock; "bad_world" if world.json cannot be read.
  std::unique_ptr<WorldFolder> open(const std::string& id);
  // Opens a world for reading at most `most_chunks` chunks, without its lock. Refuses as open()
  // does, except for "busy".
  std::unique_ptr<WorldFolder> look(const std::string& id, int64_t most_chunks = INT64_MAX) const;
  // Whether a walk continues in this world itself, not in a copy. Unknown ids are refused
  // ("not_found").
  bool is_live(const std::string& id) const;
  // Copies a world and returns the copy's id. Chunks are hard links where possible. `fill` may
  // write snapshots into the folder before the copy becomes visible; snapshots that it does not
  // write are copied.
  using Fill = std::function<void(const std::filesystem::path& folder)>;
  std::string copy(const WorldFolder& from, const std::string& kind, const std::string& name,
                   const Fill& fill = {});

  // The list for /v1/worlds: newest first, at most 200.
  std::vector<WorldInfo> list() const;
  WorldInfo describe(const std::string& id) const;
  void rename(const std::string& id, const std::string& name);
  void remove(const std::string& id);
  // The newest frame of view 0, and the thumbnail of a latent frame, as JPEG.
  std::string picture(const std::string& id) const;
  std::string thumbnail(const std::string& id, size_t view, int64_t latent) const;

  // Deletes unlocked live worlds that were not walked for `keep_hours`.
  void sweep();

  // `test` returns whether this server has a world open.
  void set_open_test(std::function<bool(const std::string&)> test) { is_open_ = std::move(test); }

 private:
  WorldInfo describe(const std::filesystem::path& folder) const;
  // Deletes a world's folder and its cached size.
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
