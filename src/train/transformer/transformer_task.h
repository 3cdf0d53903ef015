// SPDX-License-Identifier: Apache-2.0
// Training of the transformer by chunk-wise diffusion forcing on windows of latent clips.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "loci/model/transformer/transformer.h"
#include "loci/train/data/captions.h"
#include "loci/train/data/window_sources.h"
#include "loci/train/distributed/communicator.h"
#include "loci/train/loop/training_task.h"
#include "loci/train/losses/window_loss.h"
#include "loci/train/transformer/teacher.h"
#include "loci/train/transformer/transformer_recipe.h"
#include "loci/train/windows/window_pass.h"

namespace loci::train {

class TransformerTask : public TrainingTask {
 public:
  // Opens the data. `communicator` must outlive the task.
  TransformerTask(TransformerRecipe recipe, Communicator& communicator);

  std::string title() const override { return "train"; }
  std::string sample_name() const override { return "windows"; }
  Json architecture() const override;
  void create_model(const io::SafetensorsFile* checkpoint, const std::string& source) override;
  const std::vector<model::Parameter>& parameters() const override {
    return transformer_->parameters().all();
  }
  const Json& recipe() const override { return recipe_.source; }
  LossTerms add_gradients(const UpdateSamples& samples) override;
  bool validates() const override { return held_out_ != nullptr; }
  void validate(int64_t update, RunLog& log) override;

  const model::Transformer& transformer() const { return *transformer_; }

 private:
  // Adds the gradient of one window times `weight`; returns its loss.
  double add_window_gradient(const TransformerPhase& phase, int64_t update, uint64_t index,
                             double weight);
  // Logs the layer and chunk in which the values of a window first are not finite.
  void explain_loss(const WindowPass& pass, const at::Tensor& text, int64_t update,
                    uint64_t index) const;
  void measure_latents();
  std::vector<std::string> captions() const;

  TransformerRecipe recipe_;
  Communicator& communicator_;
  at::Device device_;
  WindowSources sources_;
  std::unique_ptr<WindowSource> held_out_;  // for validation; null: none
  std::unique_ptr<model::Transformer> transformer_;
  std::unique_ptr<CaptionEncoder> captions_;
  std::unique_ptr<Teacher> teacher_;  // null: no distillation
  LossOptions loss_options_;
};

}  // namespace loci::train
