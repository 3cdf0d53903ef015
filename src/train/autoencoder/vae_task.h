// SPDX-License-Identifier: Apache-2.0
// Training of the video autoencoder on clips of procedural scenes or of a folder of videos.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "loci/model/autoencoder/vae.h"
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
  Json architecture() const override { return {{"model", recipe_.model.to_json()}}; }
  void create_model(const io::SafetensorsFile* checkpoint, const std::string& source) override;
  const std::vector<model::Parameter>& parameters() const override {
    return vae_->parameters().all();
  }
  std::vector<model::Parameter> trained_parameters() const override;
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

  VaeRecipe recipe_;
  std::filesystem::path folder_;
  Communicator& communicator_;
  std::unique_ptr<VideoClips> training_, validation_;
  std::unique_ptr<model::Vae> vae_;
  std::unique_ptr<LatentGenerator> generator_;  // null: the decoder is trained on encoded latents
};

}  // namespace loci::train
