// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/networks/networks.h"

#include <algorithm>
#include <vector>

#include "loci/base/error.h"
#include "loci/base/text.h"

namespace loci::eval {

namespace fs = std::filesystem;

namespace {

// The first entry (in name order) that starts with `prefix`, ignoring case.
std::optional<fs::path> find_prefix(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (lower(entry.path().filename().string()).starts_with(prefix)) found.push_back(entry.path());
  }
  if (found.empty()) return std::nullopt;
  return *std::min_element(found.begin(), found.end());
}

}  // namespace

Networks Networks::load(const fs::path& folder) {
  Networks networks;
  if (folder.empty()) return networks;
  if (!fs::is_directory(folder)) fail("--weights: {} is not a folder", folder.string());
  const fs::path alex = folder / "lpips_alex.safetensors", vgg = folder / "lpips_vgg.safetensors";
  if (fs::exists(alex)) networks.alex = Lpips::load(LpipsNet::kAlex, alex);
  if (fs::exists(vgg)) networks.vgg = Lpips::load(LpipsNet::kVgg, vgg);
  if (const auto path = find_prefix(folder, "dinov2")) {
    networks.dino = VisionTower::load(TowerKind::kDino, *path);
  }
  for (const char* prefix : {"clip", "vit-"}) {
    const auto path = networks.clip ? std::nullopt : find_prefix(folder, prefix);
    if (path) networks.clip = VisionTower::load(TowerKind::kClip, *path);
  }
  if (!networks.alex && !networks.vgg && !networks.dino && !networks.clip) {
    fail(
        "--weights: {} contains no known weights; expected any of lpips_alex.safetensors, "
        "lpips_vgg.safetensors, dinov2*, clip* and ViT-* (docs/evaluation.md)",
        folder.string());
  }
  return networks;
}

Json Networks::describe() const {
  return {{"lpips_alex", alex.has_value()},
          {"lpips_vgg", vgg.has_value()},
          {"dinov2", dino.has_value()},
          {"clip", clip.has_value()}};
}

std::string absent_note(const char* network) {
  return std::string("not measured because --weights does not contain ") + network;
}

}  // namespace loci::eval
