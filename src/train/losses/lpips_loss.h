// SPDX-License-Identifier: Apache-2.0
// LPIPS of decoded clips as a loss.
#pragma once

#include <filesystem>

#include "loci/base/config.h"
#include "loci/train/losses/clip_parts.h"

namespace loci::train {

// The section "loss.lpips" of a recipe.
struct LpipsLossConfig {
  double weight = 0;
  std::filesystem::path file;  // weights of the network (model/perceptual/lpips.h)
  ClipPartsConfig parts;       // single frames

  static LpipsLossConfig from_section(const ConfigReader& reader);
};

}  // namespace loci::train
