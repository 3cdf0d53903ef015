// SPDX-License-Identifier: Apache-2.0
// Training of the video autoencoder on clips of procedural scenes or of a folder of videos.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "loci/model/autoencoder/vae.h"
#include "loci/model/perceptual/lpips.h"
#include "loci/train/autoencoder/adversary.h"
#include "loci/train/autoencoder/latent_generator.h"
#include "loci/train/autoencoder/vae_recipe.h"
#include "loci/train/data/video_clips.h"
#include "loci/train/distributed/communicator.h"
#include "loci/train/loop/training_task.h"

namespace loci::train {

class VaeTask : public TrainingTask {
 public:
  // Opens the data. Every validation writes the EMA weights with the statistics of their latents to
  // <folder>/vae, which Vae::load() reads. The batches of the recipe must be multiples of the
  // number of ranks. `communicator` must outlive the task.
  VaeTask(VaeRecipe recipe, const std::filesystem::path& folder, Communicator& communicator);

  std::string title() const override { return "train vae"; }
  std::string sample_name() const override { return "clips"; }
  Json architecture() const override;
  void create_model(const io::SafetensorsFile* checkpoint, const std::string& source) override;
  const std::vector<model::Parameter>& parameters() const override {
    return vae_->parameters().all();
  }
  std::vector<model::Parameter> trained_parameters() const override;
  io::NamedTensors task_state() override;
  void load_task_state(const io::SafetensorsFile* state, const std::string& source) override;
  const Json& recipe() const override { return recipe_.source; }
  LossTerms add_gradients(const UpdateSamples& samples) override;
  bool validates() const override { return true; }
  void validate(int64_t update, RunLog& log) override;

  const model::Vae& vae() const { return *vae_; }

 private:
  void fit_transform_on_leader();
  // Clip `index` of the run, which must belong to this rank.
  world::Clip training_clip(const VaePhase& phase, uint64_t index);
  // The clip's random crop, mirrored in half of the cases, as pixels [1, 3, T, H, W].
  at::Tensor augmented(const world::Clip& clip, const VaePhase& phase, uint64_t index) const;

  // The gradient of all losses of decoded pixels, and their part of the loss terms ("loss" is their
  // sum). `keys` as for ClipParts.
  struct PixelLosses {
    at::Tensor gradient;
    LossTerms terms;
  };
  PixelLosses pixel_losses(int64_t update, const at::Tensor& decoded, const at::Tensor& pixels,
                           std::span<const uint64_t> keys);
  // The factor of the adversarial loss from both gradients with respect to decoded pixels.
  double adversarial_factor(const at::Tensor& decoded, const at::Tensor& others,
                            const at::Tensor& adversarial);

  VaeRecipe recipe_;
  std::filesystem::path folder_;
  Communicator& communicator_;
  std::unique_ptr<VideoClips> training_, validation_;
  std::unique_ptr<model::Vae> vae_;
  std::unique_ptr<LatentGenerator> generator_;    // null: the decoder is trained on encoded latents
  std::optional<model::Lpips> lpips_;             // for the loss
  std::optional<model::Lpips> validation_lpips_;  // on the leader
  std::unique_ptr<Adversary> adversary_;          // null without an adversarial loss
};

}  // namespace loci::train
