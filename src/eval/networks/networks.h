// SPDX-License-Identifier: Apache-2.0
// Networks that metrics use, as far as their weights are there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "loci/base/config.h"
#include "loci/eval/networks/lpips.h"
#include "loci/eval/networks/vision_tower.h"

namespace loci::eval {

struct Networks {
  std::optional<Lpips> alex, vgg;
  std::optional<VisionTower> dino, clip;

  // From a folder with any of lpips_alex.safetensors, lpips_vgg.safetensors, and files or folders
  // whose names begin with dinov2 and with clip or vit- (the original's ViT-B-32.pt). An empty path
  // gives none; a folder without any of them is bad input.
  static Networks load(const std::filesystem::path& folder);

  // Which of them are there, for the record of a run.
  Json describe() const;
};

// What a table says about a column without weights.
std::string absent_note(const char* network);

}  // namespace loci::eval
