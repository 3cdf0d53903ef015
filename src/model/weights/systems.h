// SPDX-License-Identifier: Apache-2.0
// Published world models on the backbone of Wan2.2-TI2V-5B other than LOCI: how they are
// recognised, and the settings of the authors.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loci/base/config.h"
#include "loci/io/tensors/checkpoint.h"

namespace loci::model {

struct System {
  std::string name;
  std::string description;
  Json config;          // keys of config.json besides the sizes
  Json generation;      // the default generation.json
  bool streams = true;  // whether videos can be generated
};

const std::vector<System>& systems();
// "" (LOCI or plain Wan2.2), then the names of systems().
std::vector<std::string> system_names();
// Null for "" and unknown names.
const System* find_system(std::string_view name);

// The system of a checkpoint with these tensor names; "" if the names do not tell it. A system that
// is recognised but not supported is bad input; `where` names the checkpoint.
std::string identify_system(std::span<const std::string> names, const std::string& where);

// The sizes of a checkpoint of the Wan family from the shapes of its tensors, as keys of
// config.json. The length of texts, which no tensor tells, is that of Wan2.2.
Json sizes_from_tensors(const io::Checkpoint& weights);

// `json` with the settings of its system, or of `system` if the file names none. Keys of `json`
// have priority.
Json with_system(Json json, const std::string& system, const std::string& where);

}  // namespace loci::model
