// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/engine/services.h"

#include "loci/serve/walk/walk_registry.h"

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

Services::Services(const ModelSources& sources, const std::filesystem::path& data,
                   const std::filesystem::path& start_pictures, const Limits& all_limits)
    : limits(all_limits),
      models(sources),
      starts(picture_folders(start_pictures, sources.folders), models.families()),
      disk(data, limits, metrics),
      worlds(data, limits, disk),
      videos(data, limits, disk),
      encoder(limits.encoder_bytes),
      engine(metrics),
      walks(std::make_unique<WalkRegistry>(*this)) {
  worlds.set_open_test([this](const std::string& id) { return walks->is_open(id); });
}

Services::~Services() {
  engine.stop();
  encoder.stop();
}

}  // namespace loci::serve
