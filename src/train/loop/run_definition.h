// SPDX-License-Identifier: Apache-2.0
// What must stay the same when a training run is resumed.
#pragma once

#include <cstdint>
#include <string>

#include "loci/base/config.h"

namespace loci::train {

// Values with their defaults applied. A run that is resumed with other ones would be another run.
struct RunDefinition {
  uint64_t seed = 0;
  std::string optimizer;  // its kind, which decides what its state contains
  // Samples of all updates so far, which depends on the batches of the phases so far. The next
  // update continues with this sample.
  uint64_t samples = 0;
  Json model = Json::object();  // the architecture: configs with all of their keys

  Json to_json() const;
  static RunDefinition from_json(const Json& json, const std::string& where);
};

// Compares a resumed run with its checkpoint. A difference is bad input; the message names the key
// and both values. `update` is the update of the checkpoint and `folder` its run, for messages.
void require_same_run(const RunDefinition& before, const RunDefinition& now, int64_t update,
                      const std::string& folder);

// One line that lists the keys of the recipe whose values differ, such as "updates: 100, now 200";
// empty if there are none.
std::string recipe_changes(const Json& before, const Json& now);

}  // namespace loci::train
