// SPDX-License-Identifier: Apache-2.0
#include "loci/train/loop/run_definition.h"

#include <algorithm>
#include <set>
#include <vector>

#include "loci/base/error.h"

namespace loci::train {

namespace {

struct Change {
  std::string key, before, now;
};

std::string value_of(const Json& flat, const std::string& key) {
  return flat.contains(key) ? flat.at(key).dump() : "not set";
}

// "/phases/0/window" → "phases.0.window"
std::string dotted(std::string pointer) {
  std::ranges::replace(pointer, '/', '.');
  return pointer.substr(std::min<size_t>(1, pointer.size()));
}

std::vector<Change> changes(const Json& before, const Json& now) {
  const Json a = before.flatten(), b = now.flatten();
  std::set<std::string> keys;
  for (const Json* flat : {&a, &b}) {
    for (const auto& [key, value] : flat->items()) keys.insert(key);
  }
  std::vector<Change> found;
  for (const std::string& key : keys) {
    Change change{dotted(key), value_of(a, key), value_of(b, key)};
    if (change.before != change.now) found.push_back(std::move(change));
  }
  return found;
}

}  // namespace

Json RunDefinition::to_json() const {
  return {{"seed", seed}, {"optimizer", optimizer}, {"samples", samples}, {"model", model}};
}

RunDefinition RunDefinition::from_json(const Json& json, const std::string& where) {
  const ConfigReader reader(json, where);
  RunDefinition definition;
  definition.seed = reader.get<uint64_t>("seed");
  definition.optimizer = reader.get<std::string>("optimizer");
  definition.samples = reader.get<uint64_t>("samples");
  definition.model = reader.section("model").json();
  return definition;
}

void require_same_run(const RunDefinition& before, const RunDefinition& now, int64_t update,
                      const std::string& folder) {
  constexpr std::string_view kAdvice = "resume with the recipe of the run, or choose another --out";
  if (before.seed != now.seed) {
    fail("{}: the run has seed {}, the recipe {}; {}", folder, before.seed, now.seed, kAdvice);
  }
  if (before.optimizer != now.optimizer) {
    fail("{}: the run has optimizer.kind {}, the recipe {}; {}", folder, before.optimizer,
         now.optimizer, kAdvice);
  }
  const std::vector<Change> model = changes(before.model, now.model);
  if (!model.empty()) {
    fail("{}: the run has {} {}, the recipe {}; {}", folder, model.front().key,
         model.front().before, model.front().now, kAdvice);
  }
  if (before.samples != now.samples) {
    fail(
        "{}: the run has used {} samples in {} updates; the recipe's batch means {}: resume with "
        "the batch of the run, or add a phase with \"from\": {} and the new batch",
        folder, before.samples, update, now.samples, update);
  }
}

std::string recipe_changes(const Json& before, const Json& now) {
  constexpr size_t kMost = 8;  // on one line
  const std::vector<Change> found = changes(before, now);
  std::vector<std::string> texts;
  for (const Change& change : found) {
    if (texts.size() == kMost) {
      texts.push_back(fmt::format("and {} more", found.size() - kMost));
      break;
    }
    texts.push_back(fmt::format("{}: {}, now {}", change.key, change.before, change.now));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace loci::train
