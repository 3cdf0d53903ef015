// SPDX-License-Identifier: Apache-2.0
// The recipe of an autoencoder's training, read from one JSON file (docs/vae.md, docs/training.md).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "loci/base/config.h"
#include "loci/model/autoencoder/vae_config.h"
#include "loci/train/data/video_clips.h"
#include "loci/train/loop/loop_config.h"
#include "loci/train/losses/adversarial_loss.h"
#include "loci/train/losses/lpips_loss.h"
#include "loci/train/losses/vae_loss.h"

namespace loci::train {

// A range of updates with clips of one size. A first phase with small crops of single frames saves
// time: its updates are cheap, and its pictures differ more than the frames of a clip.
struct VaePhase {
  int64_t frames = 9;             // per clip
  int64_t width = 0, height = 0;  // of the random crop; by default the size of the data
};

// The section "validation".
struct VaeValidationConfig {
  int64_t clips = 8;
  int64_t frames = 17;          // per clip
  std::filesystem::path lpips;  // weights of the LPIPS that is reported; empty: none
};

struct VaeRecipe {
  LoopConfig loop;
  std::vector<VaePhase> phases;  // parallel to loop.phases
  model::VaeConfig model;
  VideoClipsConfig data;
  VaeLossWeights loss;
  LpipsLossConfig lpips;
  AdversarialConfig adversarial;
  VaeValidationConfig validation;
  // A folder or file that Vae::load() reads, with the initial weights. Its sizes and statistics are
  // then the model's, and the recipe can add a refiner, channels and an encoder network, and replace
  // the decoder network. Empty: random weights.
  std::filesystem::path start;
  // Replaces the decoder network of `start`, with its refiner, by one with random weights.
  bool new_decoder = false;
  // Number of channels of `start` that stay unchanged while new ones are added; 0: none are added.
  int64_t kept_channels = 0;
  // Leaves the encoder unchanged, so that existing latents stay valid.
  bool decoder_only = false;
  // Folder of a world model: the decoder is trained on clips in which this model has generated
  // about half of the latents (latent_generator.h). Needs the cameras of procedural scenes. Empty:
  // the decoder is trained on encoded latents.
  std::filesystem::path world_model;
  // Number of clips from which a block transform, or its new channels, are fitted before the first
  // update. The transform is not trained.
  int64_t transform_clips = 400;
  Json source;  // the JSON object, for checkpoints

  static VaeRecipe from_json(const Json& json, const std::string& where);
};

}  // namespace loci::train
