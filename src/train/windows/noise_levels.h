// SPDX-License-Identifier: Apache-2.0
// Noise levels for chunk-wise diffusion forcing: every chunk of a window has its own.
#pragma once

#include <string>
#include <vector>

#include "loci/base/config.h"
#include "loci/base/random.h"

namespace loci::train {

struct NoiseConfig {
  std::string kind = "uniform";    // or "logit_normal"
  double shift = 5;                // sigma = shift*s / (1 + (shift-1)*s)
  double mean = 0, deviation = 1;  // of the logit
  // This share of chunks is noise alone, for models that are asked in one look from there.
  double full_share = 0;
  // In this share of windows the chunks before a random one are cleaner by this factor: a memory
  // can only be learnt from a past clean enough to copy from.
  double clean_share = 0;
  double clean_factor = 0.2;
  // In the other windows each chunk is cleaner by itself with this chance: long windows then have
  // both pasts and presents all along.
  double past_share = 0;
  // Instead of both: every chunk stands twice in its window, under its noise and, as the past of
  // later ones, with a level drawn like that and made smaller by clean_factor (past_copies.h).
  bool past_copies = false;
  // What those cleaner chunks count in the loss, where others count 1: they are there to be looked
  // at.
  double past_weight = 1;

  static NoiseConfig from(const ConfigReader& reader);
};

// What is drawn for each chunk of a window.
struct ChunkNoise {
  std::vector<double> levels;   // in (0, 1]; 0 is a clean latent, 1 is noise
  std::vector<double> weights;  // in the loss
  // Levels of the copies that later chunks see; empty where they see the chunks themselves.
  std::vector<double> past_levels;
};

// Chunks that `guessed` names, if it is not empty, are past to the others and count nothing: there
// is nothing to learn from noise on a guess.
ChunkNoise draw_chunk_noise(const NoiseConfig& config, int64_t chunks, Random& random,
                            const std::vector<bool>& guessed = {});

}  // namespace loci::train
