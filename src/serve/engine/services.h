// SPDX-License-Identifier: Apache-2.0
// The components that all parts of the server share.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "loci/serve/engine/encoder.h"
#include "loci/serve/engine/engine.h"
#include "loci/serve/engine/models.h"
#include "loci/serve/net/limits.h"
#include "loci/serve/net/metrics.h"
#include "loci/serve/storage/world_store.h"
#include "loci/serve/videos/video_store.h"
#include "loci/serve/walk/starts.h"

namespace loci::serve {

class WalkRegistry;

struct Services {
  // `start_pictures` is a folder of the user's own start pictures, or empty.
  Services(const ModelSources& sources, const std::filesystem::path& data,
           const std::filesystem::path& start_pictures, const Limits& limits);
  // Stops the engine, then the encoder with everything that it has left to send.
  ~Services();

  Limits limits;
  Metrics metrics;
  Models models;
  Starts starts;
  DiskBudget disk;
  WorldStore worlds;
  VideoStore videos;
  Encoder encoder;
  Engine engine;
  std::unique_ptr<WalkRegistry> walks;
};

}  // namespace loci::serve
