// SPDX-License-Identifier: Apache-2.0
#include "loci/train/trainer.h"

#include <chrono>
#include <cmath>
#include <csignal>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/base/progress.h"
#include "loci/base/random.h"
#include "loci/kernels/cpu_features.h"
#include "loci/train/latent_folder.h"
#include "loci/train/window_loss.h"

namespace loci::train {

namespace {

using Clock = std::chrono::steady_clock;

// Streams of random numbers of one sample.
enum : uint64_t { kStreamChoices = 1, kStreamNoise = 2 };

at::ScalarType compute_type(const std::string& name) {
  if (name == "float32") return at::kFloat;
  if (name == "bfloat16") return at::kBFloat16;
  // Without BF16 instructions libtorch converts back and forth, which is slower than FP32.
  return kernels::isa_level() >= kernels::IsaLevel::kAvx512Bf16 ? at::kBFloat16 : at::kFloat;
}

std::map<std::string, at::Tensor> by_name(const io::NamedTensors& tensors) {
  return {tensors.begin(), tensors.end()};
}

}  // namespace

Trainer::Trainer(TrainConfig config, const std::filesystem::path& folder, bool resume,
                 Communicator& communicator)
    : config_(std::move(config)), folder_(folder), communicator_(communicator) {
  const std::optional<TrainingState> saved = folder_.load_newest();
  if (saved && !resume) {
    fail("{} already holds a run at update {}; add --resume to go on, or choose another folder",
         folder.string(), saved->update);
  }
  const std::map<std::string, at::Tensor> stored =
      saved ? by_name(saved->model) : std::map<std::string, at::Tensor>();
  model::Parameters::Source from_checkpoint;
  if (saved) {
    from_checkpoint = [&stored](const std::string& name) {
      const auto found = stored.find(name);
      // A copy: the checkpoint's memory map must not be written to.
      return found == stored.end() ? at::Tensor() : found->second.clone();
    };
  }
  auto parameters = std::make_shared<model::Parameters>(
      model::Parameters::Options{.dtype = at::kFloat, .device = at::kCPU, .seed = config_.seed},
      from_checkpoint);
  transformer_ = std::make_unique<model::Transformer>(config_.model, parameters);
  if (saved) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : stored) names.push_back(name);
    const model::LoadReport report = parameters->report(names);
    if (!report.clean()) {
      fail("{}: the checkpoint does not fit the configured model: {}", folder.string(),
           report.text());
    }
    done_ = saved->update;
  }
  transformer_->set_compute_type(compute_type(config_.compute));
  optimizer_ = std::make_unique<Optimizer>(config_.optimizer, parameters->all(), communicator_);
  if (saved) optimizer_->load_state(by_name(saved->optimizer));
  if (communicator_.leader()) {
    const std::map<std::string, at::Tensor> averaged =
        saved ? by_name(saved->ema) : std::map<std::string, at::Tensor>();
    for (const model::Parameter& parameter : parameters->all()) {
      const auto found = averaged.find(parameter.name);
      ema_.push_back((found == averaged.end() ? parameter.tensor : found->second).detach().clone());
    }
    folder_.truncate_log(done_);
  }
  for (const Phase& phase : config_.phases) {
    for (const DataPart& part : phase.data) {
      auto& source = sources_[part.folder.string()];
      if (!source) source = std::make_unique<LatentFolder>(part.folder, config_.seed);
    }
  }
}

const WindowSource& Trainer::source(const Phase& phase, uint64_t index) const {
  double total = 0;
  for (const DataPart& part : phase.data) total += part.weight;
  double at = Random{config_.seed, index}.uniform(0, total);
  for (const DataPart& part : phase.data) {
    at -= part.weight;
    if (at < 0) return *sources_.at(part.folder.string());
  }
  return *sources_.at(phase.data.back().folder.string());
}

double Trainer::sample_loss(uint64_t index, double weight) {
  const Phase& phase = config_.phase(done_);
  const Window window = source(phase, index).window(index, phase.window);
  const std::span<const Window> one(&window, 1);
  const int64_t chunk = config_.model.chunk_size;

  Random random{config_.seed, index, kStreamChoices};
  at::Generator generator =
      at::make_generator<at::CPUGeneratorImpl>(hash_keys({config_.seed, index, kStreamNoise}));
  const at::Tensor noise = at::randn(window.latents.unsqueeze(0).sizes(), generator, at::kFloat);
  const NoisedBatch batch = noise_windows(
      one, {draw_noise_levels(config_.noise, (phase.window - 1) / chunk, random)}, noise, chunk);
  const model::TokenMaps maps = window_maps(one, config_.model);

  // Without a text encoder every window has the empty text: all zeros.
  const at::Tensor text = at::zeros({1, 1, config_.model.text_dim}, at::kFloat);
  const model::TextKeys text_keys = transformer_->text_keys(text);
  model::ForwardContext context;
  context.maps = &maps;
  context.text = &text_keys;
  const double aspect =
      static_cast<double>(window.latents.size(3)) / static_cast<double>(window.latents.size(2));
  context.chunks =
      draw_history_access(phase.history, chunk, maps.grid.tokens(),
                          camera::relative_to_first(window.poses), window.lenses, aspect, random);
  context.write_states = false;
  context.checkpoint_blocks = config_.checkpoint_blocks;
  const at::Tensor velocity = transformer_->forward(batch.latents, batch.timesteps, context);
  const at::Tensor loss = chunk_losses(velocity, batch.target, chunk).mean();
  (loss * weight).backward();
  return loss.item<double>();
}

Trainer::UpdateResult Trainer::update(bool checkpoint_due) {
  optimizer_->zero_gradients();
  // Samples of an update are dealt to the ranks in turn; gradients are averaged over ranks, so each
  // rank weighs its own by the share that makes the mean over the whole batch.
  const auto first = static_cast<uint64_t>(done_) * static_cast<uint64_t>(config_.batch);
  const double weight =
      static_cast<double>(communicator_.size()) / static_cast<double>(config_.batch);
  double loss = 0;
  for (int64_t i = communicator_.rank(); i < config_.batch; i += communicator_.size()) {
    loss += weight * sample_loss(first + static_cast<uint64_t>(i), weight);
  }
  at::Tensor shared = at::tensor(
      {loss, interrupted() ? 1.0 : 0.0, checkpoint_due && communicator_.leader() ? 1.0 : 0.0},
      at::kDouble);
  communicator_.all_reduce_mean(shared);
  UpdateResult result;
  result.loss = shared[0].item<double>();
  result.stop = shared[1].item<double>() > 0;
  result.checkpoint = shared[2].item<double>() > 0;
  if (!std::isfinite(result.loss)) {
    fail_check(
        "the loss at update {} is {}; the last checkpoint in {} is from before it: lower the "
        "learning rate and resume",
        done_ + 1, result.loss, folder_.path().string());
  }
  result.gradient_norm = optimizer_->step(done_);
  if (!std::isfinite(result.gradient_norm)) {
    fail_check(
        "the gradient at update {} is not finite; the last checkpoint in {} is from before it",
        done_ + 1, folder_.path().string());
  }
  ++done_;
  if (communicator_.leader()) update_ema();
  return result;
}

void Trainer::update_ema() {
  const at::NoGradGuard no_grad;
  // Early on the average follows quickly, so that it does not remember the start for long.
  const double decay =
      std::min(config_.ema, static_cast<double>(done_ + 1) / static_cast<double>(done_ + 10));
  std::vector<at::Tensor> current;
  for (const model::Parameter& parameter : transformer_->parameters().all()) {
    current.push_back(parameter.tensor.detach());
  }
  at::_foreach_lerp_(ema_, current, 1 - decay);
}

void Trainer::save() {
  TrainingState state;
  state.update = done_;
  state.config = config_.source;
  state.optimizer = optimizer_->state();  // every rank takes part
  if (!communicator_.leader()) return;
  const std::vector<model::Parameter>& all = transformer_->parameters().all();
  for (size_t i = 0; i < all.size(); ++i) {
    state.model.emplace_back(all[i].name, all[i].tensor.detach());
    state.ema.emplace_back(all[i].name, ema_[i]);
  }
  folder_.save(state, config_.keep_checkpoints);
}

void Trainer::run() {
  std::optional<Progress> progress;
  if (communicator_.leader()) {
    progress.emplace("train", static_cast<uint64_t>(config_.updates), "updates",
                     static_cast<uint64_t>(done_));
  }
  Clock::time_point saved_at = Clock::now();
  int64_t saved_update = -1;
  while (done_ < config_.updates) {
    const Clock::time_point begun = Clock::now();
    const double minutes = std::chrono::duration<double>(begun - saved_at).count() / 60;
    const UpdateResult result = update(minutes >= config_.checkpoint_minutes);
    const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
    if (communicator_.leader()) {
      progress->set_note(fmt::format("loss {:.4f}", result.loss));
      progress->advance();
      if (done_ % config_.log_every == 0) {
        folder_.log({{"update", done_},
                     {"loss", result.loss},
                     {"gradient_norm", result.gradient_norm},
                     {"rate_factor", config_.optimizer.rate_factor(done_ - 1)},
                     {"seconds", seconds},
                     {"windows", done_ * config_.batch}});
      }
    }
    if (result.checkpoint || result.stop) {
      save();
      saved_at = Clock::now();
      saved_update = done_;
    }
    if (result.stop) {
      log_info("interrupted: checkpoint written at update {}", done_);
      check_interrupt();
      throw Interrupted(SIGTERM);  // another rank was
    }
  }
  if (saved_update != done_) save();
}

}  // namespace loci::train
