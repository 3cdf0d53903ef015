// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/walk_registry.h"

#include <algorithm>

#include "loci/serve/net/refusal.h"
#include "loci/serve/walk/walk.h"

namespace loci::serve {

std::shared_ptr<Walk> WalkRegistry::open(WorldRequest request, std::shared_ptr<Client> client) {
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
  const int limit = services_.limits.sessions;
  // An evicted walk needs a time slice to end. The second limit bounds the memory if clients come
  // and go faster than that.
  if (attached >= limit || static_cast<int>(walks_.size()) >= 3 * limit) {
    refuse("limit", "all {} walks of this server are in use; try again later", limit);
  }
  // Walks without a client stay in memory for a while; limit their number, too.
  if (static_cast<int>(walks_.size()) >= 2 * limit) evict_oldest();
  const std::string world = request.world;
  auto walk = std::make_shared<Walk>(services_, std::move(request));
  walk->attach(std::move(client));
  walks_.push_back(walk);
  if (live) by_world_[world] = walk.get();
  services_.engine.add(walk);
  return walk;
}

void WalkRegistry::evict_oldest() {
  Walk* oldest = nullptr;
  std::optional<Clock::time_point> since;
  for (const std::shared_ptr<Walk>& walk : walks_) {
    const std::optional<Clock::time_point> alone = walk->lingering_since();
    if (!alone || (since && *since <= *alone)) continue;
    since = alone;
    oldest = walk.get();
  }
  if (oldest != nullptr) oldest->evict();
}

bool WalkRegistry::is_open(const std::string& world) const {
  const std::lock_guard lock(mutex_);
  return by_world_.contains(world);
}

void WalkRegistry::name(const Walk& walk, const std::string& world) {
  const std::lock_guard lock(mutex_);
  std::erase_if(by_world_, [&](const auto& entry) { return entry.second == &walk; });
  for (const std::shared_ptr<Walk>& each : walks_) {
    if (each.get() == &walk) by_world_[world] = each.get();
  }
}

void WalkRegistry::erase(const Walk& walk) {
  std::erase_if(by_world_, [&](const auto& entry) { return entry.second == &walk; });
  std::erase_if(walks_, [&](const std::shared_ptr<Walk>& each) { return each.get() == &walk; });
}

bool WalkRegistry::retire(const Walk& walk) {
  const std::lock_guard lock(mutex_);
  if (walk.attached()) return false;
  erase(walk);
  return true;
}

void WalkRegistry::forget(const Walk& walk) {
  const std::lock_guard lock(mutex_);
  erase(walk);
}

std::vector<std::shared_ptr<Walk>> WalkRegistry::all() const {
  const std::lock_guard lock(mutex_);
  return walks_;
}

}  // namespace loci::serve
