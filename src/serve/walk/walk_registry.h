// SPDX-License-Identifier: Apache-2.0
// The walks in memory, found by the ids of their worlds. It limits their number and hands a walk
// from one connection to the next.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "loci/serve/engine/services.h"
#include "loci/serve/net/client.h"
#include "loci/serve/walk/world_request.h"

namespace loci::serve {

class Walk;

// Any thread may call every function.
class WalkRegistry {
 public:
  explicit WalkRegistry(Services& services) : services_(services) {}

  // Attaches the client to the walk of the requested world. A walk in memory is taken over;
  // otherwise a new one starts. Too many walks with a client are refused ("limit"). Of too many
  // walks in memory, the one that has been without a client for the longest time ends.
  std::shared_ptr<Walk> open(WorldRequest request, std::shared_ptr<Client> client);
  bool is_open(const std::string& world) const;

  // From now on `walk` is found by the id of `world`.
  void name(const Walk& walk, const std::string& world);
  // Forgets a walk and returns true, unless a client was attached to it meanwhile.
  bool retire(const Walk& walk);
  void forget(const Walk& walk);

  std::vector<std::shared_ptr<Walk>> all() const;

 private:
  void erase(const Walk& walk);
  // Makes room for a new walk.
  void evict_oldest();

  Services& services_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Walk>> walks_;  // in the order of their creation
  std::map<std::string, Walk*> by_world_;
};

}  // namespace loci::serve
