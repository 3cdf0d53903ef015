// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/sessions.h"

#include <algorithm>

#include "loci/serve/net/refusal.h"
#include "loci/serve/walk/walk.h"

namespace loci::serve {

namespace {

// The user's own pictures, then those that come with the models.
std::vector<std::filesystem::path> picture_folders(
    const std::filesystem::path& own, const std::vector<std::filesystem::path>& models) {
  std::vector<std::filesystem::path> folders;
  if (!own.empty()) folders.push_back(own);
  for (const std::filesystem::path& model : models) {
    if (is_directory(model / "examples")) folders.push_back(model / "examples");
  }
  return folders;
}

}  // namespace

Services::Services(const std::vector<std::filesystem::path>& model_folders, at::ScalarType dtype,
                   const std::filesystem::path& data, const std::filesystem::path& start_pictures,
                   const Limits& all_limits)
    : limits(all_limits),
      models(model_folders, dtype),
      starts(picture_folders(start_pictures, model_folders)),
      disk(data, limits, metrics),
      worlds(data, limits, disk),
      videos(data, limits, disk),
      engine(metrics),
      sessions(std::make_unique<Sessions>(*this)) {
  worlds.set_open_test([this](const std::string& id) { return sessions->is_open(id); });
}

Services::~Services() { engine.stop(); }

std::shared_ptr<Walk> Sessions::open(WorldRequest request, std::shared_ptr<Client> client) {
  const bool live = !request.world.empty() && services_.worlds.is_live(request.world);
  const std::lock_guard lock(mutex_);
  if (const auto found = by_world_.find(request.world); live && found != by_world_.end()) {
    const auto walk = std::find_if(
        walks_.begin(), walks_.end(),
        [&](const std::shared_ptr<Walk>& each) { return each.get() == found->second; });
    (*walk)->attach(std::move(client));
    return *walk;
  }
  const auto attached =
      std::count_if(walks_.begin(), walks_.end(),
                    [](const std::shared_ptr<Walk>& walk) { return walk->attached(); });
  // Walks that were just left keep their memory a while; they must not pile up.
  const int limit = services_.limits.sessions;
  if (attached >= limit || static_cast<int>(walks_.size()) >= 2 * limit) {
    refuse("limit", "all {} sessions of this server are taken; try again later", limit);
  }
  const std::string world = request.world;
  auto walk = std::make_shared<Walk>(services_, std::move(request));
  walk->attach(std::move(client));
  walks_.push_back(walk);
  if (live) by_world_[world] = walk.get();
  services_.engine.add(walk);
  return walk;
}

bool Sessions::is_open(const std::string& world) const {
  const std::lock_guard lock(mutex_);
  return by_world_.contains(world);
}

void Sessions::name(const Walk& walk, const std::string& world) {
  const std::lock_guard lock(mutex_);
  std::erase_if(by_world_, [&](const auto& entry) { return entry.second == &walk; });
  for (const std::shared_ptr<Walk>& each : walks_) {
    if (each.get() == &walk) by_world_[world] = each.get();
  }
}

void Sessions::erase(const Walk& walk) {
  std::erase_if(by_world_, [&](const auto& entry) { return entry.second == &walk; });
  std::erase_if(walks_, [&](const std::shared_ptr<Walk>& each) { return each.get() == &walk; });
}

bool Sessions::retire(const Walk& walk) {
  const std::lock_guard lock(mutex_);
  if (walk.attached()) return false;
  erase(walk);
  return true;
}

void Sessions::forget(const Walk& walk) {
  const std::lock_guard lock(mutex_);
  erase(walk);
}

std::vector<std::shared_ptr<Walk>> Sessions::all() const {
  const std::lock_guard lock(mutex_);
  return walks_;
}

}  // namespace loci::serve
