// SPDX-License-Identifier: Apache-2.0
#include "loci/app/tools/models.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <system_error>

#include "loci/base/machine.h"

namespace loci::app {

namespace fs = std::filesystem;

std::vector<fs::path> model_places() {
  std::vector<fs::path> places;
  if (const char* folder = std::getenv("LOCI_MODELS"); folder != nullptr && *folder != '\0') {
    places.emplace_back(folder);
  }
  places.emplace_back("models");
  places.push_back(program_folder() / "models");
  places.push_back(program_folder().parent_path() / "share" / "loci" / "models");  // installed
  return places;
}

std::vector<fs::path> find_models() {
  std::vector<fs::path> models;
  std::set<fs::path> seen;  // canonical paths, since two places may be the same folder
  std::error_code error;
  const auto is_model = [&](const fs::path& folder) {
    return fs::is_regular_file(folder / "config.json", error) ||
           fs::is_regular_file(folder / "transformer" / "config.json", error);
  };
  const auto add = [&](const fs::path& folder) {
    if (!is_model(folder)) return;
    if (seen.insert(fs::weakly_canonical(folder, error)).second) models.push_back(folder);
  };
  for (const fs::path& place : model_places()) {
    add(place);
    if (is_model(place)) continue;  // its subfolders are parts of the model
    std::vector<fs::path> entries;
    for (fs::directory_iterator at(place, error), end; !error && at != end; at.increment(error)) {
      entries.push_back(at->path());
    }
    std::sort(entries.begin(), entries.end());
    for (const fs::path& entry : entries) add(entry);
  }
  return models;
}

fs::path find_model(const fs::path& folder) {
  if (fs::exists(folder)) return folder;
  for (const fs::path& model : find_models()) {
    if (model.filename() == folder.filename()) return model;
  }
  return folder;
}

}  // namespace loci::app
