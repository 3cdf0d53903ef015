// SPDX-License-Identifier: Apache-2.0
// Distillation: a trained model as the teacher of another one, usually full softmax as the teacher
// of a hybrid layout.
#pragma once

#include <filesystem>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"
#include "loci/model/transformer/transformer.h"
#include "loci/train/losses/window_loss.h"
#include "loci/train/windows/window_pass.h"

namespace loci::train {

// The section "distill" of a recipe.
struct DistillConfig {
  std::filesystem::path teacher;  // model folder; empty: no distillation
  // Weights of the loss terms.
  double velocity = 1;  // error against the teacher's velocity
  double layers = 1;    // error against the outputs of the teacher's blocks, relative to their size
  double data = 0;      // error against the velocity of the data
  // Denoising steps in which the teacher generates the windows, along the cameras of the data; 0:
  // the windows are the data.
  int64_t rollout_steps = 0;

  static DistillConfig from(const ConfigReader& reader);
};

class Teacher {
 public:
  // Loads the teacher. A teacher whose chunks, cameras, blocks or heads do not fit `student` is bad
  // input.
  Teacher(const DistillConfig& config, const model::TransformerConfig& student,
          at::ScalarType compute, at::Device device);

  // Generates the window's latents after frame 0, if the recipe asks for it. `text` as
  // CaptionEncoder returns it.
  void replace_latents(Window& window, const at::Tensor& text, uint64_t key) const;

  // The student's loss on a prepared window, with gradients for the student only.
  at::Tensor loss(const model::Transformer& student, const WindowPass& pass, const at::Tensor& text,
                  bool checkpoint_blocks, const LossOptions& options) const;

 private:
  DistillConfig config_;
  model::Transformer transformer_;
};

}  // namespace loci::train
