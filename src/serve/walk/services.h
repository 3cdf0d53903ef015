// SPDX-License-Identifier: Apache-2.0
// What the parts of the server share.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "loci/serve/walk/engine.h"
#include "loci/serve/net/limits.h"
#include "loci/serve/net/metrics.h"
#include "loci/serve/walk/models.h"
#include "loci/serve/walk/starts.h"
#include "loci/serve/videos/video_store.h"
#include "loci/serve/storage/world_store.h"

namespace loci::serve {

class Sessions;

struct Services {
  Services(const std::vector<std::filesystem::path>& model_folders, at::ScalarType dtype,
           const std::filesystem::path& data, const std::filesystem::path& start_pictures,
           const Limits& limits);
  ~Services();

  Limits limits;
  Metrics metrics;
  Models models;
  Starts starts;
  DiskBudget disk;
  WorldStore worlds;
  VideoStore videos;
  Engine engine;
  std::unique_ptr<Sessions> sessions;
};

}  // namespace loci::serve
