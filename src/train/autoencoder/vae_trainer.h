// SPDX-License-Identifier: Apache-2.0
// The training loop of the video autoencoder.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "loci/base/config.h"
#include "loci/model/autoencoder/vae.h"
#include "loci/train/loop/averaged_weights.h"
#include "loci/train/distributed/communicator.h"
#include "loci/train/windows/latent_guesser.h"
#include "loci/train/loop/optimizer.h"
#include "loci/train/loop/run_folder.h"
#include "loci/train/losses/vae_loss.h"
#include "loci/train/autoencoder/video_clips.h"

namespace loci::train {

// Updates with clips of one size. Starting with small cuts of single frames pays: many cheap
// updates on pictures that differ more than frames of a clip, and the network for clips grows out
// of that.
struct VaePhase {
  int64_t updates = 1000;
  int64_t frames = 9;
  int64_t batch = 2;              // clips an update, over all ranks
  int64_t width = 0, height = 0;  // cut from a random place; all of it if the recipe does not say

  static VaePhase from(const ConfigReader& reader, const model::VaeConfig& model,
                       const VideoClipsConfig& data);
};

struct VaeTrainConfig {
  model::VaeConfig model;
  VideoClipsConfig data;
  VaeLossWeights loss;
  double rate = 1e-3;  // AdamW's learning rate at its highest
  OptimizerConfig optimizer;
  std::vector<VaePhase> phases;  // in order
  std::string compute = "auto";  // float32, bfloat16, or by what the machine does fast
  double ema = 0.999;            // share of the old average kept at each update
  uint64_t seed = 0;
  // A folder or file that Vae::load() reads, to start from instead of random weights; its sizes and
  // statistics are then the model's, and the recipe's refiner joins them.
  std::filesystem::path start;
  // Channels of `start` that stay as they are while others join them; 0: none joins.
  int64_t kept_channels = 0;
  // Leaves the encoder of `start` as it is, so that what it encoded stays valid.
  bool decoder_only = false;
  // A world model's folder: the decoder learns from latents as that model makes them, for about
  // half of every clip (latent_guesser.h). Needs the cameras of procedural worlds.
  std::filesystem::path guesser;
  // Clips from which a block transform, or its new channels, are fitted before the first update. It
  // stays as it is from then on.
  int64_t transform_clips = 400;
  int64_t checkpoint_every = 250, keep = 2;
  int64_t validate_every = 250, validation_clips = 8, validation_frames = 17;
  Json source;  // what it was read from, for checkpoints

  static VaeTrainConfig from_json(const Json& json, const std::string& where);
  int64_t updates() const;  // of all phases
};

// How well clips that were not trained on come back.
struct VaeScore {
  double psnr = 0;                      // mean over clips, dB
  double first_psnr = 0;                // of the first frames, which have a latent each
  std::optional<double> guessed_psnr;   // of clips with guessed latents
  double structure = 0;                 // structure_loss()
  double posterior_deviation = 0;       // mean standard deviation of the posterior, in model space
  std::vector<double> mean, deviation;  // of the latents, per channel
};

class VaeTrainer {
 public:
  // Goes on from the folder's newest checkpoint when `resume`; otherwise a folder that holds one is
  // bad input. The batches of a recipe must divide among the ranks.
  VaeTrainer(VaeTrainConfig config, const std::filesystem::path& folder, bool resume,
             Communicator& communicator);

  // Runs to the configured number of updates, then leaves the averaged weights with the statistics
  // of their latents in <folder>/vae, which Vae::load() reads; every validation renews it. On an
  // interrupt, writes a checkpoint and throws Interrupted. A loss that is not finite ends the run
  // with the last checkpoint in place.
  void run();

  // One update; returns the mean loss over all ranks. Public for tests.
  VaeLoss update();

  // Passes validation clips through `vae`.
  VaeScore validate(const model::Vae& vae);
  // With the averaged weights, in the leader; null in other ranks, which take part as well.
  std::unique_ptr<model::Vae> averaged() const;

  int64_t updates_done() const { return done_; }
  const model::Vae& vae() const { return *vae_; }

 private:
  void fit_new_transform();
  const VaePhase& phase() const;  // of the next update
  uint64_t first_clip() const;    // number of the next update's first clip of this rank
  void export_model();
  void save();

  VaeTrainConfig config_;
  RunFolder folder_;
  Communicator& communicator_;
  std::unique_ptr<model::Vae> vae_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<VideoClips> training_, validation_;
  std::unique_ptr<LatentGuesser> guesser_;  // or null
  std::unique_ptr<AveragedWeights> averages_;
  double gradient_norm_ = 0;
  int64_t done_ = 0;
  bool stop_ = false;  // some rank was interrupted
};

}  // namespace loci::train
