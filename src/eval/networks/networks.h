// SPDX-License-Identifier: Apache-2.0
// Networks that metrics use. Each is present only if its weights are.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "loci/base/config.h"
#include "loci/eval/networks/vision_tower.h"
#include "loci/model/perceptual/lpips.h"

namespace loci::eval {

using model::Lpips;
using model::LpipsNet;

struct Networks {
  std::optional<Lpips> alex, vgg;
  std::optional<VisionTower> dino, clip;

  // Loads the networks found in a folder: lpips_alex.safetensors, lpips_vgg.safetensors, and files
  // or folders whose names start with dinov2, and with clip or vit- (the original ViT-B-32.pt). An
  // empty path loads none. A folder without any of them is bad input.
  static Networks load(const std::filesystem::path& folder);

  // Which networks are present, for the settings of a run.
  Json describe() const;
};

// Text of the report about a column without weights. `network` is a name, optionally with a hint.
std::string absent_note(const char* network);

}  // namespace loci::eval
