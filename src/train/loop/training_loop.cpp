// SPDX-License-Identifier: Apache-2.0
#include "loci/train/loop/training_loop.h"

#include <chrono>
#include <cmath>
#include <csignal>
#include <optional>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/base/progress.h"

namespace loci::train {

namespace {

using LoopClock = std::chrono::steady_clock;

double seconds_since(LoopClock::time_point begin) {
  return std::chrono::duration<double>(LoopClock::now() - begin).count();
}

}  // namespace

TrainingLoop::TrainingLoop(LoopConfig config, TrainingTask& task,
                           const std::filesystem::path& folder, bool resume,
                           Communicator& communicator)
    : config_(std::move(config)),
      task_(task),
      communicator_(communicator),
      folder_(folder),
      log_(folder) {
  for (const PhaseSpan& phase : config_.phases) {
    if (phase.batch >= communicator_.size()) continue;
    fail(
        "batch is {}, but there are {} ranks; every rank needs at least one sample: raise batch "
        "or start fewer ranks",
        phase.batch, communicator_.size());
  }
  if (communicator_.leader()) folder_.lock();
  const std::optional<SavedState> saved = find_checkpoint(resume);
  if (saved) {
    done_ = saved_ = saved->update;
    if (saved->definition) {
      require_same_run(*saved->definition, definition(), done_, folder.string());
    }
  }
  task_.create_model(saved ? &saved->model : nullptr, folder.string());
  if (saved) task_.load_task_state(saved->task ? &*saved->task : nullptr, folder.string());
  if (saved && communicator_.leader()) {
    // After create_model(), which adds measured values to the recipe.
    const std::string changes = recipe_changes(saved->config, task_.recipe());
    if (!changes.empty()) {
      log_warning("{}: resuming at update {} with another recipe: {}", folder.string(), done_,
                  changes);
    }
  }
  optimizer_ =
      std::make_unique<Optimizer>(config_.optimizer, task_.trained_parameters(), communicator_);
  if (saved) optimizer_->load_state(saved->optimizer);
  ema_ = std::make_unique<EmaWeights>(task_.parameters(), *optimizer_, communicator_, config_.ema,
                                      saved ? &saved->ema : nullptr);
  if (communicator_.leader()) log_.truncate(done_);
}

std::optional<SavedState> TrainingLoop::find_checkpoint(bool resume) const {
  constexpr double kNone = -1;
  at::Tensor update = at::full({1}, kNone, at::kDouble);
  // The leader reads all files of the checkpoint once; the other ranks rely on the result.
  communicator_.as_leader([&] {
    if (!resume && folder_.newest()) {
      fail(
          "{} already contains a run at update {}; add --resume to continue it, or choose another "
          "folder",
          folder_.path().string(), *folder_.newest());
    }
    if (const std::optional<int64_t> found = folder_.find_intact(/*set_aside=*/true)) {
      update.fill_(static_cast<double>(*found));
    }
  });
  communicator_.broadcast(update, 0);
  const auto found = update.item<double>();
  if (found == kNone) return std::nullopt;
  return folder_.open(static_cast<int64_t>(found));
}

RunDefinition TrainingLoop::definition() const {
  return {.seed = config_.seed,
          .optimizer = config_.optimizer.kind,
          .samples = config_.first_sample(done_),
          .model = task_.architecture()};
}

UpdateSamples TrainingLoop::samples() const {
  UpdateSamples samples;
  samples.update = done_;
  samples.phase = config_.phase(done_);
  const int64_t batch = config_.phases[samples.phase].batch;
  const uint64_t first = config_.first_sample(done_);
  for (int64_t i = communicator_.rank(); i < batch; i += communicator_.size()) {
    samples.indices.push_back(first + static_cast<uint64_t>(i));
  }
  samples.weight = static_cast<double>(communicator_.size()) / static_cast<double>(batch);
  samples.before_last_backward = [this] { optimizer_->arm(); };
  return samples;
}

TrainingLoop::UpdateResult TrainingLoop::update(bool checkpoint_due) {
  // An interrupt is handled after the update, with a checkpoint.
  const DeferInterrupts defer;
  optimizer_->zero_gradients();
  UpdateResult result;
  result.losses = task_.add_gradients(samples());
  std::vector<double> values;
  for (const auto& [name, value] : result.losses) values.push_back(value);
  values.push_back(interrupted() ? 1 : 0);
  values.push_back(checkpoint_due && communicator_.leader() ? 1 : 0);
  const at::Tensor shared = at::tensor(values, at::kDouble);
  communicator_.all_reduce_mean(shared);
  const auto* mean = shared.const_data_ptr<double>();
  for (auto& [name, value] : result.losses) value = *mean++;
  result.stop = *mean++ > 0;
  result.checkpoint = *mean > 0;
  const double loss = result.losses.front().second;
  if (!std::isfinite(loss)) {
    fail_check(
        "the loss at update {} is {}; the last checkpoint in {} is from before it: lower the "
        "learning rate and resume",
        done_ + 1, loss, folder_.path().string());
  }
  result.gradient_norm = optimizer_->step(done_);
  if (!std::isfinite(result.gradient_norm)) {
    fail_check(
        "the gradient at update {} is not finite (first in {}); the last checkpoint in {} is from "
        "before it: lower the learning rate and resume",
        done_ + 1, optimizer_->not_finite_gradient(), folder_.path().string());
  }
  ++done_;
  ema_->update(done_);
  return result;
}

void TrainingLoop::log_update(const UpdateResult& result, double seconds) {
  if (done_ % config_.log_every != 0) return;
  const int64_t batch = config_.phases[config_.phase(done_ - 1)].batch;
  Json values = {{"gradient_norm", result.gradient_norm},
                 {"learning_rate_factor", config_.optimizer.learning_rate_factor(done_ - 1)},
                 {"seconds", seconds},
                 {"samples", config_.first_sample(done_)},
                 {"samples_per_second", static_cast<double>(batch) / seconds}};
  for (const auto& [name, value] : result.losses) values[name] = value;
  const std::map<ParameterGroup, double>& norms = optimizer_->group_norms();
  for (const auto& [group, norm] : norms) {
    if (norms.size() == 1) break;  // the same as gradient_norm
    values[fmt::format("gradient_norm_{}", group_name(group))] = norm;
  }
  log_.metrics(done_, std::move(values));
}

void TrainingLoop::validate() {
  const DeferInterrupts defer;
  const at::NoGradGuard no_grad;
  const EmaWeights::InPlace ema(*ema_);
  task_.validate(done_, log_);
}

void TrainingLoop::save() {
  TrainingState state;
  state.update = done_;
  state.config = task_.recipe();
  state.definition = definition();
  // Gathered from all ranks.
  state.optimizer = optimizer_->state();
  state.ema = ema_->gathered();
  state.task = task_.task_state();
  communicator_.as_leader([&] {
    for (const auto& [name, tensor] : task_.parameters()) {
      state.model.emplace_back(name, tensor.detach().cpu());
    }
    log_.flush();  // a run that is resumed from the checkpoint does not repeat these lines
    folder_.save(state, config_.keep_checkpoints);
  });
  saved_ = done_;
}

void TrainingLoop::run() {
  std::optional<Progress> progress;
  if (communicator_.leader()) {
    progress.emplace(task_.title(), static_cast<uint64_t>(config_.updates), "updates",
                     static_cast<uint64_t>(done_));
  }
  LoopClock::time_point saved_at = LoopClock::now();
  while (done_ < config_.updates) {
    const int64_t batch = config_.phases[config_.phase(done_)].batch;
    const bool minutes_over = seconds_since(saved_at) >= 60 * config_.checkpoint_minutes;
    const LoopClock::time_point begin = LoopClock::now();
    const UpdateResult result = update(minutes_over);
    const double seconds = seconds_since(begin);
    if (communicator_.leader()) {
      progress->set_note(fmt::format("loss {:.4f}, {:.2f} {}/s", result.losses.front().second,
                                     static_cast<double>(batch) / seconds, task_.sample_name()));
      progress->advance();
      log_update(result, seconds);
    }
    const bool last = done_ == config_.updates;
    if (task_.validates() && !result.stop && (done_ % config_.validation_every == 0 || last)) {
      validate();
    }
    const bool updates_over =
        config_.checkpoint_updates > 0 && done_ % config_.checkpoint_updates == 0;
    if (result.checkpoint || result.stop || updates_over) {
      save();
      saved_at = LoopClock::now();
    }
    if (result.stop) {
      log_info("interrupted: checkpoint written at update {}", done_);
      check_interrupt();
      throw Interrupted(SIGTERM);  // another rank was interrupted
    }
  }
  if (saved_ != done_) save();
}

}  // namespace loci::train
