// SPDX-License-Identifier: Apache-2.0
#include "loci/train/transformer/teacher.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/model/weights/weights.h"
#include "loci/train/windows/rollout.h"

namespace loci::train {

DistillConfig DistillConfig::from(const ConfigReader& reader) {
  DistillConfig c;
  c.teacher = reader.get<std::string>("teacher", "");
  c.velocity = reader.get<double>("velocity", c.velocity, 0.0, 1e6);
  c.layers = reader.get<double>("layers", c.layers, 0.0, 1e6);
  c.data = reader.get<double>("data", c.data, 0.0, 1e6);
  c.rollout_steps = reader.get<int64_t>("rollout_steps", c.rollout_steps, 0, 1000);
  return c;
}

Teacher::Teacher(const DistillConfig& config, const model::TransformerConfig& student,
                 at::ScalarType compute, at::Device device)
    : config_(config),
      transformer_(
          model::load_model(config.teacher, {.dtype = at::kFloat, .device = device}).transformer) {
  const model::TransformerConfig& teacher = transformer_.config();
  const std::string folder = config.teacher.string();
  if (teacher.is_quantized()) {
    fail("{} is quantized to {}; use the model from which it was quantized as the teacher", folder,
         teacher.quantization);
  }
  transformer_.set_compute_type(compute);
  // The teacher runs on the student's chunks and camera maps.
  const bool recurrent = teacher.recurrent_memory != "none" && !teacher.hybrid_layers.empty();
  if (teacher.chunk_size != student.chunk_size ||
      (recurrent && (teacher.recurrent_mapping() != student.recurrent_mapping() ||
                     teacher.kda_translation_scale != student.kda_translation_scale))) {
    fail(
        "{}: the teacher and the model must have the same chunk_size, kda_translation_scale and "
        "encoding of the recurrent memory",
        folder);
  }
  if (config.layers > 0 && (teacher.layers != student.layers || teacher.heads != student.heads)) {
    fail(
        "{}: the teacher has {} blocks of {} heads, the model has {} of {}; set distill.layers to "
        "0",
        folder, teacher.layers, teacher.heads, student.layers, student.heads);
  }
}

void Teacher::replace_latents(Window& window, const at::Tensor& text, uint64_t key) const {
  if (config_.rollout_steps == 0) return;
  window.latents = continue_window(transformer_, window, 1, text, config_.rollout_steps, key);
}

at::Tensor Teacher::loss(const model::Transformer& student, const WindowPass& pass,
                         const at::Tensor& text, bool checkpoint_blocks,
                         const LossOptions& options) const {
  const int64_t chunk = student.config().chunk_size;
  std::vector<at::Tensor> teacher_outputs, student_outputs;
  at::Tensor target;
  {
    const at::NoGradGuard no_grad;
    // The whole past is visible to the teacher, whatever is visible to the student.
    WindowPass whole = pass;
    whole.chunks = whole_past(pass, chunk);
    target = run_window(transformer_, whole, text.detach(),
                        {.observers = {.block_outputs = &teacher_outputs}});
  }
  PassOptions pass_options;
  pass_options.checkpoint_blocks = checkpoint_blocks;
  if (config_.layers > 0) pass_options.observers.block_outputs = &student_outputs;
  const at::Tensor velocity = run_window(student, pass, text, pass_options);
  at::Tensor loss = config_.velocity * chunk_losses(velocity, target, chunk, options).mean();
  for (size_t i = 0; i < student_outputs.size(); ++i) {
    const at::Tensor error = (student_outputs[i] - teacher_outputs[i]).square().mean() /
                             teacher_outputs[i].square().mean();
    loss = loss + config_.layers / static_cast<double>(student_outputs.size()) * error;
  }
  if (config_.data > 0) {
    loss = loss + config_.data * chunk_losses(velocity, pass.batch.target, chunk, options).mean();
  }
  return loss;
}

}  // namespace loci::train
