// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/storage/world_store.h"

#include <algorithm>
#include <chrono>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/log.h"
#include "loci/base/machine.h"
#include "loci/base/output_path.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/protocol/ids.h"

namespace loci::serve {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMostListed = 200;
constexpr uint64_t kKeepFree = uint64_t{64} << 20;  // bytes of the disk that stay free

uint64_t bytes_below(const fs::path& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(folder, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code gone;  // other processes may delete files meanwhile
    if (it->is_regular_file(gone) && !gone) {
      const auto size = it->file_size(gone);
      if (!gone) bytes += size;
    }
  }
  return bytes;
}

// Time of the last change, in seconds since 1970; 0 if unknown.
int64_t changed(const fs::path& path) {
  std::error_code error;
  const auto time = fs::last_write_time(path, error);
  if (error) return 0;
  const auto system = std::chrono::file_clock::to_sys(time);
  return std::chrono::duration_cast<std::chrono::seconds>(system.time_since_epoch()).count();
}

// Reads world.json for a client. Details of a damaged file go to the log only.
WorldFacts readable_facts(const fs::path& folder) {
  try {
    return WorldFolder::read_facts(folder);
  } catch (const Error& error) {
    log_error("opening a world: {}", error.what());
    refuse("bad_world", "this world is damaged or was made by another version");
  }
}

void link_or_copy(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_hard_link(from, to, error);
  if (error) fs::copy_file(from, to);
}

}  // namespace

DiskBudget::DiskBudget(fs::path folder, const Limits& limits, Metrics& metrics)
    : folder_(std::move(folder)), limit_(limits.disk_bytes), metrics_(metrics) {
  metrics_.disk_limit_bytes = limit_;
  recount();
}

void DiskBudget::check(uint64_t bytes) const {
  const uint64_t free = free_disk(folder_).value_or(UINT64_MAX);
  if (metrics_.disk_bytes.load() + bytes > limit_ || free < bytes + kKeepFree) {
    refuse("storage", "the server's storage is full; delete worlds or videos first");
  }
}

void DiskBudget::add(uint64_t bytes) { metrics_.disk_bytes += bytes; }

void DiskBudget::recount() { metrics_.disk_bytes = bytes_below(folder_); }

WorldStore::WorldStore(const fs::path& data, const Limits& limits, DiskBudget& disk)
    : shelf_(data / "worlds", "world", "world.json"), limits_(limits), disk_(disk) {}

std::unique_ptr<WorldFolder> WorldStore::create(WorldFacts facts) {
  disk_.check(0);
  facts.id = new_id("world");
  facts.created = unix_time();
  const fs::path path = shelf_.place(facts.id);
  AtomicDirectory folder(path);
  fs::create_directories(folder.temporary() / "chunks");
  write_file(folder.temporary() / "lock", "");
  WorldFolder::write_facts(folder.temporary(), facts);
  // Lock the world before it becomes visible.
  FileLock lock = FileLock::try_lock(folder.temporary() / "lock");
  folder.commit();
  return std::make_unique<WorldFolder>(path, std::move(facts), std::move(lock));
}

std::unique_ptr<WorldFolder> WorldStore::open(const std::string& id) {
  const fs::path folder = shelf_.find(id);
  FileLock lock = FileLock::try_lock(folder / "lock");
  if (!lock) refuse("busy", "this world is open elsewhere; try again in a moment");
  return std::make_unique<WorldFolder>(folder, readable_facts(folder), std::move(lock));
}

std::unique_ptr<WorldFolder> WorldStore::look(const std::string& id, int64_t most_chunks) const {
  const fs::path folder = shelf_.find(id);
  return std::make_unique<WorldFolder>(folder, readable_facts(folder), FileLock(), most_chunks);
}

bool WorldStore::is_live(const std::string& id) const {
  const fs::path folder = shelf_.find(id);
  try {
    return WorldFolder::read_facts(folder).kind == "live";
  } catch (const Error&) {
    return true;  // damaged; open() reports it
  }
}

std::string WorldStore::copy(const WorldFolder& from, const std::string& kind,
                             const std::string& name, const Fill& fill) {
  disk_.check(bytes_of(from.path(), from.chunks()));
  WorldFacts facts = from.facts();
  facts.parent = facts.id;
  facts.id = new_id("world");
  facts.kind = kind;
  facts.name = name;
  facts.created = unix_time();
  AtomicDirectory folder(shelf_.place(facts.id));
  fs::create_directories(folder.temporary() / "chunks");
  write_file(folder.temporary() / "lock", "");
  for (int64_t i = 0; i < from.chunks(); ++i) {
    link_or_copy(WorldFolder::chunk_file(from.path(), i),
                 WorldFolder::chunk_file(folder.temporary(), i));
  }
  if (fill) fill(folder.temporary());
  for (size_t view = 0; view < facts.views.size(); ++view) {
    const fs::path snapshot = from.snapshot(view);
    const fs::path target = folder.temporary() / snapshot.filename();
    if (!file_exists(target) && file_exists(snapshot)) link_or_copy(snapshot, target);
  }
  WorldFolder::write_facts(folder.temporary(), facts);
  folder.commit();
  disk_.add(bytes_below(shelf_.place(facts.id)));
  return facts.id;
}

uint64_t WorldStore::bytes_of(const fs::path& folder, int64_t chunks) const {
  const std::string id = folder.filename().string();
  {
    const std::lock_guard lock(mutex_);
    const auto known = sizes_.find(id);
    if (known != sizes_.end() && known->second.first == chunks) return known->second.second;
  }
  const uint64_t bytes = bytes_below(folder);
  const std::lock_guard lock(mutex_);
  sizes_[id] = {chunks, bytes};
  return bytes;
}

WorldInfo WorldStore::describe(const fs::path& folder) const {
  const WorldFacts facts = WorldFolder::read_facts(folder);
  const int64_t chunks = WorldFolder::count_chunks(folder);
  const int64_t latents = facts.time_grid().latents_in_chunks(chunks);
  WorldInfo info;
  info.id = facts.id;
  info.kind = facts.kind;
  info.name = facts.name;
  info.created_at = info.updated_at = facts.created;
  info.chunks = chunks;
  info.latents = latents;
  info.size = {facts.width, facts.height};
  info.prompt = facts.prompt;
  info.seed = std::to_string(facts.seed);
  if (!facts.parent.empty()) info.parent = facts.parent;
  for (const WorldFacts::View& view : facts.views) info.views.push_back({view.model, ""});
  if (chunks > 0) {
    const ChunkRecord newest = WorldFolder::read_record(folder, facts, chunks - 1);
    info.prompt = newest.prompt;
    for (size_t v = 0; v < info.views.size(); ++v) {
      info.views[v].history = newest.views[v].settings.history.kind;
    }
    info.updated_at = changed(WorldFolder::chunk_file(folder, chunks - 1));
    info.seconds = static_cast<double>(facts.time_grid().frames_in_latents(latents)) / facts.fps;
  }
  info.open = is_open_ && is_open_(facts.id);
  info.bytes = bytes_of(folder, chunks);
  info.picture = "/v1/worlds/" + facts.id + "/picture";
  return info;
}

WorldInfo WorldStore::describe(const std::string& id) const { return describe(shelf_.find(id)); }

std::vector<WorldInfo> WorldStore::list() const {
  std::vector<std::pair<int64_t, fs::path>> found;
  for (const fs::path& folder : shelf_.all()) {
    found.emplace_back(changed(folder / "chunks"), folder);
  }
  std::sort(found.rbegin(), found.rend());
  if (found.size() > kMostListed) found.resize(kMostListed);
  std::vector<WorldInfo> worlds;
  for (const auto& [time, folder] : found) {
    try {
      WorldInfo world = describe(folder);
      if (world.chunks > 0) worlds.push_back(std::move(world));
    } catch (const std::exception& problem) {
      // Deleted meanwhile or damaged: list the others.
      log_debug("listing worlds: {}", problem.what());
    }
  }
  return worlds;
}

void WorldStore::rename(const std::string& id, const std::string& name) {
  const fs::path folder = shelf_.find(id);
  WorldFacts facts = WorldFolder::read_facts(folder);
  facts.name = name;
  WorldFolder::write_facts(folder, facts);
}

void WorldStore::forget(const fs::path& folder) {
  remove_folder(folder);
  const std::lock_guard lock(mutex_);
  sizes_.erase(folder.filename().string());
}

void WorldStore::remove(const std::string& id) {
  const fs::path folder = shelf_.find(id);
  const FileLock lock = FileLock::try_lock(folder / "lock");
  if (!lock) refuse("busy", "this world is open; leave its walk first");
  forget(folder);
  disk_.recount();
}

std::string WorldStore::picture(const std::string& id) const {
  const fs::path folder = shelf_.find(id);
  const int64_t chunks = WorldFolder::count_chunks(folder);
  if (chunks == 0) refuse("not_found", "this world has no frames yet");
  return read_chunk(WorldFolder::chunk_file(folder, chunks - 1)).views.front().newest;
}

std::string WorldStore::thumbnail(const std::string& id, size_t view, int64_t latent) const {
  const fs::path folder = shelf_.find(id);
  const WorldFacts facts = WorldFolder::read_facts(folder);
  const camera::TimeGrid grid = facts.time_grid();
  const int64_t chunk = grid.chunk_of_latent(std::max<int64_t>(latent, 0));
  const auto place = static_cast<size_t>(latent - grid.latents_of_chunk(chunk).begin);
  const fs::path file = WorldFolder::chunk_file(folder, chunk);
  if (latent < 0 || view >= facts.views.size() || !file_exists(file)) {
    refuse("not_found", "there is no such frame");
  }
  const ChunkRecord record = WorldFolder::read_record(folder, facts, chunk);
  if (place >= record.views[view].thumbnails.size()) {
    refuse("not_found", "there is no such frame");
  }
  return record.views[view].thumbnails[place];
}

void WorldStore::sweep() {
  const int64_t oldest = unix_time() - static_cast<int64_t>(limits_.keep_hours * 3600);
  for (const fs::path& folder : shelf_.all()) {
    const std::string name = folder.filename().string();
    try {
      if (changed(folder / "chunks") > oldest) continue;
      if (WorldFolder::read_facts(folder).kind != "live") continue;
      const FileLock lock = FileLock::try_lock(folder / "lock");
      if (!lock) continue;
      log_info("deleting world {}: not walked for {} hours", name, limits_.keep_hours);
      forget(folder);
    } catch (const std::exception& problem) {
      log_warning("sweeping worlds: {}", problem.what());
    }
  }
  disk_.recount();
}

}  // namespace loci::serve
