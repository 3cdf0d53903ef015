// SPDX-License-Identifier: Apache-2.0
#include "loci/train/transformer/transformer_task.h"

#include <cmath>
#include <set>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/base/random.h"
#include "loci/model/weights/weights.h"
#include "loci/sample/stream/finite.h"
#include "loci/train/loop/compute_type.h"
#include "loci/train/transformer/sample_sheet.h"
#include "loci/train/transformer/start_weights.h"

namespace loci::train {

TransformerTask::TransformerTask(TransformerRecipe recipe, Communicator& communicator)
    : recipe_(std::move(recipe)),
      communicator_(communicator),
      device_(training_device(recipe_.device)),
      sources_(recipe_.loop.seed, recipe_.model.channels) {
  for (const TransformerPhase& phase : recipe_.phases) sources_.open(phase.data);
  if (!recipe_.validation.folder.empty()) {
    held_out_ = sources_.open_other(recipe_.validation.folder);
  }
}

void TransformerTask::measure_latents() {
  if (!recipe_.channel_weights.vae.empty()) {
    loss_options_.channel_weights =
        decoder_channel_weights(model::Vae::load(recipe_.channel_weights.vae), sources_.first(),
                                recipe_.channel_weights.power, communicator_);
  }
  loss_options_.log_above = recipe_.log_loss_above;
  if (recipe_.linear_guess) {
    recipe_.model.linear_guess = channel_deviations(sources_.first());
    recipe_.source["model"]["linear_guess"] = recipe_.model.linear_guess;  // for the checkpoint
  }
}

Json TransformerTask::architecture() const {
  Json model = recipe_.model.to_json();
  model.erase("linear_guess");  // measured on the data
  Json all = {{"model", model}};
  if (recipe_.text.trained) all["text"]["encoder"] = recipe_.text.trained->to_json();
  return all;
}

void TransformerTask::create_model(const io::SafetensorsFile* checkpoint,
                                   const std::string& source) {
  measure_latents();
  model::Parameters::Source stored;
  if (checkpoint != nullptr) {
    stored = [checkpoint](const std::string& name) {
      return checkpoint->has(name) ? checkpoint->tensor(name) : at::Tensor();
    };
  }
  auto parameters = std::make_shared<model::Parameters>(
      model::Parameters::Options{.dtype = at::kFloat, .device = device_, .seed = recipe_.loop.seed},
      stored);
  transformer_ = std::make_unique<model::Transformer>(recipe_.model, parameters);
  captions_ = make_caption_encoder(recipe_.text, recipe_.model, *parameters, captions());
  if (checkpoint != nullptr) {
    std::vector<std::string> names;
    for (const io::TensorInfo& info : checkpoint->tensors()) names.push_back(info.name);
    const model::LoadReport report = parameters->report(names);
    if (!report.clean()) {
      fail("{}: the checkpoint does not fit the configured model: {}", source, report.text());
    }
  } else if (!recipe_.start.empty()) {
    copy_start_weights(recipe_.start, recipe_.start_without, recipe_.text, *transformer_);
  }
  const at::ScalarType compute = compute_type(recipe_.loop.compute, device_);
  transformer_->set_compute_type(compute);
  if (checkpoint == nullptr && recipe_.recurrent_start.enabled()) {
    const TransformerPhase& first = recipe_.phases.front();
    start_recurrent(recipe_.recurrent_start, *transformer_, *captions_,
                    sources_.choose(first.data, 0), first.window, first.stages.history,
                    recipe_.loop.seed);
    // Every rank has measured the same, but processors may round differently.
    for (const auto& [name, tensor] : parameters->all()) {
      if (group_of(name) == ParameterGroup::kRecurrent) communicator_.broadcast(tensor, 0);
    }
  }
  if (!recipe_.distill.teacher.empty()) {
    teacher_ = std::make_unique<Teacher>(recipe_.distill, recipe_.model, compute, device_);
  }
}

std::vector<std::string> TransformerTask::captions() const {
  std::set<std::string> all;
  sources_.collect_captions(all);
  if (held_out_) {
    for (std::string& caption : held_out_->captions()) all.insert(std::move(caption));
  }
  return {all.begin(), all.end()};
}

LossTerms TransformerTask::add_gradients(const UpdateSamples& samples) {
  const TransformerPhase& phase = recipe_.phases[samples.phase];
  double loss = 0;
  for (const uint64_t index : samples.indices) {
    if (index == samples.indices.back()) samples.before_last_backward();
    loss += samples.weight * add_window_gradient(phase, samples.update, index, samples.weight);
  }
  return {{"loss", loss}};
}

double TransformerTask::add_window_gradient(const TransformerPhase& phase, int64_t update,
                                            uint64_t index, double weight) {
  const uint64_t key = hash_keys({recipe_.loop.seed, index});
  Window window = sources_.choose(phase.data, index).window(index, phase.window);
  if (teacher_) {
    teacher_->replace_latents(window, captions_->encode(window.caption).detach(), key);
  }
  const WindowStages& stages = phase.stages;
  const GeneratedPast generated = draw_generated_past(stages.generated_share, *transformer_,
                                                      *captions_, window, stages.history, key);
  const WindowPass pass = prepare_window(window, recipe_.model, stages, key, device_, generated);
  const at::Tensor text = captions_->encode(pass.drop_caption ? std::string() : window.caption);
  at::Tensor loss;
  if (teacher_) {
    loss = teacher_->loss(*transformer_, pass, text, recipe_.checkpoint_blocks, loss_options_);
  } else {
    const at::Tensor velocity =
        run_window(*transformer_, pass, text, {.checkpoint_blocks = recipe_.checkpoint_blocks});
    const at::Tensor losses =
        chunk_losses(velocity, pass.batch.target, recipe_.model.chunk_size, loss_options_);
    loss = (losses * pass.chunk_weights).sum() / pass.chunk_weights.sum().clamp_min(1e-6);
  }
  (loss * weight).backward();
  const auto value = loss.item<double>();
  if (!std::isfinite(value)) explain_loss(pass, text, update, index);
  return value;
}

void TransformerTask::explain_loss(const WindowPass& pass, const at::Tensor& text, int64_t update,
                                   uint64_t index) const {
  const at::NoGradGuard no_grad;
  std::string where = "in the loss only";
  std::vector<at::Tensor> outputs;
  run_window(*transformer_, pass, text.detach(), {.observers = {.block_outputs = &outputs}});
  if (!sample::all_finite(pass.latents)) {
    outputs.clear();
    where = "in the latents of the window";
  }
  for (size_t layer = 0; layer < outputs.size(); ++layer) {
    if (sample::all_finite(outputs[layer])) continue;
    size_t chunk = 0;
    const int64_t tokens = outputs[layer].size(1) / pass.maps.frames;
    while (chunk + 1 < pass.chunks.size() &&
           sample::all_finite(outputs[layer].narrow(1, 0, pass.chunks[chunk].end * tokens))) {
      ++chunk;
    }
    where = fmt::format("first in layer {}, chunk {}", layer, chunk);
    break;
  }
  log_error("update {}, window {}: values are not finite, {}", update + 1, index, where);
}

void TransformerTask::validate(int64_t update, RunLog& log) {
  const TransformerPhase& phase = recipe_.phase(update);
  const ValidationScores scores = validate_windows(
      *transformer_, *captions_, *held_out_, recipe_.validation, phase.stages.for_validation(),
      phase.window, recipe_.loop.seed, communicator_);
  if (communicator_.leader()) {
    Json values;
    for (const auto& [name, value] : scores) values["validation/" + name] = value;
    log.metrics(update, std::move(values));
    log_info("update {}: validation loss {:.4f}, {:.4f} with the recurrent readout off", update,
             scores.at("loss"), scores.at("loss_read_off"));
  }
  if (recipe_.validation.vae.empty()) return;
  communicator_.as_leader([&] {
    const DeferInterrupts defer;  // this may be another thread than the caller's
    log.picture("samples", update,
                sample_sheet(*transformer_, *captions_, *held_out_, recipe_.validation,
                             phase.window, recipe_.loop.seed));
  });
}

}  // namespace loci::train
