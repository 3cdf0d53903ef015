// SPDX-License-Identifier: Apache-2.0
// The walks in memory: found by the id of their world, counted, handed from connection to
// connection. Safe in any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "loci/serve/net/client.h"
#include "loci/serve/walk/services.h"
#include "loci/serve/walk/world_request.h"

namespace loci::serve {

class Walk;

class Sessions {
 public:
  explicit Sessions(Services& services) : services_(services) {}

  // The walk of the request's world with this client: one in memory is taken over, otherwise a new
  // one starts. Too many sessions are refused ("limit").
  std::shared_ptr<Walk> open(WorldRequest request, std::shared_ptr<Client> client);
  bool is_open(const std::string& world) const;

  // Walks tell under which id they are to be found, from now on.
  void name(const Walk& walk, const std::string& world);
  // Lets go of a walk, unless a client has come.
  bool retire(const Walk& walk);
  void forget(const Walk& walk);

  std::vector<std::shared_ptr<Walk>> all() const;

 private:
  void erase(const Walk& walk);

  Services& services_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Walk>> walks_;
  std::map<std::string, Walk*> by_world_;
};

}  // namespace loci::serve
