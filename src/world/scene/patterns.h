// SPDX-License-Identifier: Apache-2.0
// Textures shared by all scenes: repeating patterns whose channels select among a material's
// colours, with mip levels, computed once per process. Their features are large, because at 192x128
// pixels a small autoencoder cannot preserve fine detail.
#pragma once

#include <cstdint>
#include <vector>

namespace loci::world {

enum Pattern : int32_t {
  kPlain,
  kPlaster,
  kBrick,
  kAshlar,  // large stone blocks
  kPlanks,
  kRoofTiles,
  kGrass,
  kCobbles,
  kSand,
  kLeaves,
  kNeedles,
  kBark,
  kFacade,   // 4x4 windows; glow = the lit ones
  kArches,   // 4x2 arched windows
  kStripes,  // horizontal bands
  kChecker,
  kTiles,  // floor tiles with joints
  kSnow,
  kRock,     // sloping layers
  kStrata,   // horizontal layers of uneven thickness
  kRipples,  // water
  kCarpet,   // frame and medallion
  kSign,     // a bold glyph
  kPanel,    // door with panels
  kLattice,  // fence
  kGlow,     // glows everywhere
  kPatternCount,
};

constexpr int kPatternSize = 128;  // texels per side of the finest level
constexpr int kPatternLevels = 8;  // 128, 64, …, 1

// Texels of all patterns: bytes second, third, shade (128 = 1), glow. The finest level of pattern p
// starts at p * kPatternStride, its level l at p * kPatternStride + level_offset(l).
constexpr int level_offset(int level) {
  int offset = 0;
  for (int i = 0; i < level; ++i) offset += (kPatternSize >> i) * (kPatternSize >> i);
  return offset;
}
constexpr int kPatternStride = level_offset(kPatternLevels) + 3;  // a multiple of 4

const std::vector<uint32_t>& pattern_texels();

}  // namespace loci::world
