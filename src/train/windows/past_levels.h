// SPDX-License-Identifier: Apache-2.0
// Stage "past": the past that later chunks of a window read, and its noise levels. A model can only
// learn to use its memory if the past is clean enough to copy from.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "loci/base/config.h"
#include "loci/base/random.h"
#include "loci/train/windows/noise_levels.h"

namespace loci::train {

// "kind": "in_place". The noisy chunks are the past of later chunks. Some of them are made cleaner:
// their noise level is multiplied by `noise_factor` and their loss by `loss_weight`. By default
// none are, which is plain diffusion forcing.
struct InPlacePast {
  double prefix_share = 0;  // share of windows in which all chunks before a random one are cleaner
  double chunk_share = 0;   // in the other windows, share of chunks that are cleaner
  double noise_factor = 0.2;
  double loss_weight = 1;
};

// "kind": "clean_copies". Every chunk is in the input twice: as a target chunk under its noise, and
// as a clean copy, the past of later chunks (clean_copies.h).
struct CleanCopies {
  // The noise level of a copy is drawn like that of a target chunk and multiplied by this factor.
  double noise_factor = 0.2;
  // Share of target chunks among the chunks that do not return to an earlier view; returns are
  // always target chunks. Chunks that are not targets are in the input as clean copies only, which
  // saves most of the tokens of a long window.
  double new_share = 1;
};

// The section "past" of a recipe or of a phase.
using PastConfig = std::variant<InPlacePast, CleanCopies>;

PastConfig read_past(const ConfigReader& reader);

// Noise levels and loss weights of the chunks after frame 0.
struct ChunkNoise {
  std::vector<double> levels;   // in (0, 1]
  std::vector<double> weights;  // in the loss
  // Noise levels of the clean copies; empty: the past is in place.
  std::vector<double> copy_levels;
};

// Applies the stage to the levels of the stage "noise", with the same random sequence. `generated`
// marks the chunks of a generated past; empty: none. In place, generated chunks are the cleaner
// ones, with a loss weight of 0.
ChunkNoise draw_past(const PastConfig& past, const NoiseConfig& noise, std::vector<double> levels,
                     const std::vector<bool>& generated, Random& random);

}  // namespace loci::train
