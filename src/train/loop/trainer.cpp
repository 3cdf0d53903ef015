// SPDX-License-Identifier: Apache-2.0
#include "loci/train/loop/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <set>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/base/progress.h"
#include "loci/base/random.h"
#include "loci/io/media/image.h"
#include "loci/model/weights/weights.h"
#include "loci/sample/stream/finite.h"
#include "loci/train/loop/compute_type.h"
#include "loci/train/windows/grown_patches.h"
#include "loci/train/windows/guessed_past.h"
#include "loci/train/windows/latent_folder.h"
#include "loci/train/windows/rollout.h"
#include "loci/train/loop/sample_sheet.h"
#include "loci/train/losses/window_loss.h"

namespace loci::train {

namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Trainer::Trainer(TrainConfig config, const std::filesystem::path& folder, bool resume,
                 Communicator& communicator)
    : config_(std::move(config)),
      device_(training_device(config_.device)),
      folder_(folder),
      communicator_(communicator),
      events_(folder_.path()) {
  if (config_.batch < communicator_.size()) {
    fail("batch is {}, but there are {} ranks; give every rank a window at least, or start fewer",
         config_.batch, communicator_.size());
  }
  for (const Phase& phase : config_.phases) {
    for (const DataPart& part : phase.data) {
      auto& source = sources_[part.folder.string()];
      if (!source) source = std::make_unique<LatentFolder>(part.folder, config_.seed);
    }
  }
  if (!config_.validation.folder.empty()) {
    held_out_ = std::make_unique<LatentFolder>(config_.validation.folder, config_.seed);
  }
  if (!config_.channel_weights.vae.empty()) {
    loss_options_.channel_weights = decoder_channel_weights(
        model::Vae::load(config_.channel_weights.vae), *sources_.begin()->second,
        config_.channel_weights.power, communicator_);
  }
  loss_options_.log_above = config_.log_loss_above;
  if (config_.linear_guess) {
    config_.model.linear_guess = channel_deviations(*sources_.begin()->second);
    config_.source["model"]["linear_guess"] = config_.model.linear_guess;  // for the checkpoint
  }
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
      model::Parameters::Options{.dtype = at::kFloat, .device = device_, .seed = config_.seed},
      from_checkpoint);
  transformer_ = std::make_unique<model::Transformer>(config_.model, parameters);
  captions_ = make_caption_encoder(config_.text, config_.model, *parameters, captions());
  if (saved) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : stored) names.push_back(name);
    const model::LoadReport report = parameters->report(names);
    if (!report.clean()) {
      fail("{}: the checkpoint does not fit the configured model: {}", folder.string(),
           report.text());
    }
    done_ = saved->update;
  } else if (!config_.start.empty()) {
    start_from(config_.start);
  }
  transformer_->set_compute_type(compute_type(config_.compute, device_));
  if (!saved && config_.recurrent_start.asked()) {
    const Phase& first = config_.phase(0);
    start_recurrent(config_.recurrent_start, *transformer_, *captions_, source(first, 0),
                    first.window, first.history, config_.seed);
    // Measured alike by all, but on processors that may round differently.
    for (const auto& [name, tensor] : parameters->all()) {
      if (group_of(name) == Group::kRecurrent) communicator_.broadcast(tensor, 0);
    }
  }
  optimizer_ = std::make_unique<Optimizer>(config_.optimizer, parameters->all(), communicator_);
  if (saved) optimizer_->load_state(by_name(saved->optimizer));
  averages_ = std::make_unique<AveragedWeights>(
      parameters->all(), *optimizer_, communicator_, config_.ema,
      saved ? by_name(saved->ema) : std::map<std::string, at::Tensor>());
  if (communicator_.leader()) folder_.truncate_log(done_);
  if (!config_.distill.teacher.empty()) {
    teacher_ = std::make_unique<model::Transformer>(
        model::load_model(config_.distill.teacher, {.dtype = at::kFloat, .device = device_})
            .transformer);
    if (teacher_->config().is_quantized()) {
      fail("{} is quantized to {}; let the model that it was made of be the teacher",
           config_.distill.teacher.string(), teacher_->config().quantization);
    }
    teacher_->set_compute_type(compute_type(config_.compute, device_));
    // It runs on the student's chunks and camera maps.
    const model::TransformerConfig& taught = teacher_->config();
    const bool recurrent = taught.recurrent_memory != "none" && !taught.hybrid_layers.empty();
    if (taught.chunk_size != config_.model.chunk_size ||
        (recurrent && (taught.projective() != config_.model.projective() ||
                       taught.kda_translation_scale != config_.model.kda_translation_scale))) {
      fail(
          "{}: the teacher's chunks or the cameras of its memory differ from the model's; give "
          "both "
          "one chunk_size, kda_translation_scale and kind of recurrent_memory",
          config_.distill.teacher.string());
    }
    if (config_.distill.layers > 0 && (teacher_->config().layers != config_.model.layers ||
                                       teacher_->config().heads != config_.model.heads)) {
      fail("{}: the teacher has {} blocks of {} heads, the model {} of {}; set distill.layers to 0",
           config_.distill.teacher.string(), teacher_->config().layers, teacher_->config().heads,
           config_.model.layers, config_.model.heads);
    }
  }
}

void Trainer::start_from(const std::filesystem::path& folder) {
  const at::NoGradGuard no_grad;
  const model::ModelFiles files = model::open_model(folder);
  if (!files.weights) fail("{} holds no weights to start from", folder.string());
  if (files.config.is_quantized()) {
    fail("{} is quantized to {}; start from the model that it was made of", folder.string(),
         files.config.quantization);
  }
  model::TransformerConfig stored = config_.model;
  stored.patch = files.config.patch;
  stored.channels = files.config.channels;
  const PatchShape from{stored.patch, stored.channels};
  const PatchShape to{config_.model.patch, config_.model.channels};
  if (!can_grow(from, to)) {
    fail(
        "{}: its patches are {}x{} with {} channels, the configured model's {}x{} with {}; start "
        "from patches as large or larger, and from no more channels",
        folder.string(), from.patch, from.patch, from.channels, to.patch, to.patch, to.channels);
  }
  stored.linear_guess.clear();  // of the new model's channels, and no weight
  const model::LoadedModel loaded = model::load_model(
      stored, *files.weights,
      {.dtype = at::kFloat, .seed = config_.seed, .allow_missing = true, .allow_unexpected = true});
  std::map<std::string, at::Tensor> values;
  for (const auto& [name, tensor] : loaded.transformer.parameters().all()) {
    values[name] = grown_for(name, tensor, from, to);
  }
  const std::filesystem::path text = folder / "text_encoder";
  if (config_.text.trained && std::filesystem::exists(text / "config.json")) {
    const model::TextEncoder encoder = model::TextEncoder::load(text, {});
    for (const auto& [name, tensor] : encoder.parameters().all()) {
      values[std::string(kTextEncoderPrefix) + name] = tensor;
    }
  }
  for (const auto& [name, tensor] : transformer_->parameters().all()) {
    const auto found = values.find(name);
    if (found == values.end() ||
        std::ranges::find(config_.start_without, group_of(name)) != config_.start_without.end()) {
      continue;
    }
    if (found->second.sizes() != tensor.sizes()) {
      fail("{}: {} is [{}]; the configured model has [{}]", folder.string(), name,
           fmt::join(found->second.sizes(), ", "), fmt::join(tensor.sizes(), ", "));
    }
    tensor.copy_(found->second);
  }
}

std::vector<std::string> Trainer::captions() const {
  std::set<std::string> all;
  const auto add = [&all](const WindowSource& source) {
    for (std::string& caption : source.captions()) all.insert(std::move(caption));
  };
  for (const auto& [folder, source] : sources_) add(*source);
  if (held_out_) add(*held_out_);
  return {all.begin(), all.end()};
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
  Window window = source(phase, index).window(index, phase.window);
  if (teacher_ && config_.distill.rollout_steps > 0) {
    window.latents =
        continue_window(*teacher_, window, 1, captions_->encode(window.caption).detach(),
                        config_.distill.rollout_steps, hash_keys({config_.seed, index}));
  }
  const uint64_t key = hash_keys({config_.seed, index});
  GuessedPast guess;
  if (Random{key, 0x70617374}.chance(phase.history.guess_share)) {
    guess = guess_past(*transformer_, window, phase.history,
                       captions_->encode(window.caption).detach(), key);
  }
  const WindowPass pass = prepare_window(window, config_.model, config_.noise, phase.history,
                                         config_.text.dropout, key, device_, guess);
  const at::Tensor text = captions_->encode(pass.drop_text ? std::string() : window.caption);
  at::Tensor loss;
  if (teacher_) {
    loss = distillation_loss(pass, text);
  } else {
    const at::Tensor velocity =
        run_window(*transformer_, pass, text, {.checkpoint_blocks = config_.checkpoint_blocks});
    const at::Tensor losses =
        chunk_losses(velocity, pass.batch.target, config_.model.chunk_size, loss_options_);
    loss = (losses * pass.chunk_weights).sum() / pass.chunk_weights.sum().clamp_min(1e-6);
  }
  (loss * weight).backward();
  const auto value = loss.item<double>();
  if (!std::isfinite(value)) explain_loss(pass, text, index);
  return value;
}

void Trainer::explain_loss(const WindowPass& pass, const at::Tensor& text, uint64_t index) const {
  const at::NoGradGuard no_grad;
  std::string where = "in the loss itself";
  std::vector<at::Tensor> outputs;
  run_window(*transformer_, pass, text.detach(), {.block_outputs = &outputs});
  // The input counts as what comes before layer 0.
  if (!sample::all_finite(pass.latents)) {
    outputs.clear();
    where = "in its latents";
  }
  for (size_t layer = 0; layer < outputs.size(); ++layer) {
    if (sample::all_finite(outputs[layer])) continue;
    size_t chunk = 0;
    const int64_t tokens = outputs[layer].size(1) / pass.maps.frames;
    while (chunk + 1 < pass.chunks.size() &&
           sample::all_finite(outputs[layer].narrow(1, 0, pass.chunks[chunk].end * tokens))) {
      ++chunk;
    }
    where = fmt::format("from layer {} on, first in chunk {}", layer, chunk);
    break;
  }
  log_error("update {}, window {}: numbers are not finite {}", done_ + 1, index, where);
}

at::Tensor Trainer::distillation_loss(const WindowPass& pass, const at::Tensor& text) const {
  const DistillConfig& weights = config_.distill;
  const int64_t chunk = config_.model.chunk_size;
  std::vector<at::Tensor> taught, learnt;
  at::Tensor target;
  {
    const at::NoGradGuard no_grad;
    // The teacher sees the whole past, whatever the student may see.
    WindowPass whole = pass;
    whole.chunks = whole_past(pass, chunk);
    target = run_window(*teacher_, whole, text.detach(), {.block_outputs = &taught});
  }
  PassOptions options;
  options.checkpoint_blocks = config_.checkpoint_blocks;
  if (weights.layers > 0) options.block_outputs = &learnt;
  const at::Tensor velocity = run_window(*transformer_, pass, text, options);
  at::Tensor loss = weights.velocity * chunk_losses(velocity, target, chunk, loss_options_).mean();
  for (size_t i = 0; i < learnt.size(); ++i) {
    const at::Tensor error = (learnt[i] - taught[i]).square().mean() / taught[i].square().mean();
    loss = loss + weights.layers / static_cast<double>(learnt.size()) * error;
  }
  if (weights.data > 0) {
    loss = loss +
           weights.data * chunk_losses(velocity, pass.batch.target, chunk, loss_options_).mean();
  }
  return loss;
}

Trainer::UpdateResult Trainer::update(bool checkpoint_due) {
  const DeferInterrupts to_the_end;  // heard after the update, with a checkpoint
  optimizer_->zero_gradients();
  // Samples of an update are dealt to the ranks in turn; gradients are averaged over ranks, so each
  // rank weighs its own by the share that makes the mean over the whole batch.
  const auto first = static_cast<uint64_t>(done_) * static_cast<uint64_t>(config_.batch);
  const double weight =
      static_cast<double>(communicator_.size()) / static_cast<double>(config_.batch);
  double loss = 0;
  for (int64_t i = communicator_.rank(); i < config_.batch; i += communicator_.size()) {
    if (i + communicator_.size() >= config_.batch) optimizer_->arm();  // this rank's last window
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
        "the gradient at update {} is not finite (first in {}); the last checkpoint in {} is from "
        "before it",
        done_ + 1, optimizer_->not_finite_gradient(), folder_.path().string());
  }
  ++done_;
  averages_->update(done_);
  return result;
}

void Trainer::log(const Json& metrics) {
  folder_.log(metrics);
  for (const auto& [name, value] : metrics.items()) {
    if (name != "update" && value.is_number()) {
      events_.scalar(name, done_, value.get<double>());
    }
  }
}

void Trainer::validate_averaged() {
  const DeferInterrupts to_the_end;
  const at::NoGradGuard no_grad;
  const AveragedWeights::InPlace averaged(*averages_);
  const Phase& phase = config_.phase(done_);
  const ValidationScores scores =
      validate(*transformer_, *captions_, *held_out_, config_.validation, config_.noise,
               phase.history, phase.window, config_.seed, communicator_);
  if (communicator_.leader()) {
    Json metrics{{"update", done_}};
    for (const auto& [name, value] : scores) metrics["validation/" + name] = value;
    log(metrics);
    log_info("update {}: validation loss {:.4f}, {:.4f} with the memory's readout off", done_,
             scores.at("loss"), scores.at("loss_read_off"));
  }
  if (config_.validation.vae.empty()) return;
  communicator_.as_leader([&] {
    const DeferInterrupts here_too;
    const at::Tensor sheet = sample_sheet(*transformer_, *captions_, *held_out_, config_.validation,
                                          phase.window, config_.seed);
    io::write_png(folder_.path() / fmt::format("samples-{:08}.png", done_), sheet);
    events_.image("samples", done_, sheet);
  });
}

void Trainer::save() {
  TrainingState state;
  state.update = done_;
  state.config = config_.source;
  state.optimizer = optimizer_->state();  // every rank takes part
  state.ema = averages_->gathered();
  communicator_.as_leader([&] {
    for (const auto& [name, tensor] : transformer_->parameters().all()) {
      state.model.emplace_back(name, tensor.detach().cpu());
    }
    folder_.save(state, config_.keep_checkpoints);
  });
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
      progress->set_note(fmt::format("loss {:.4f}, {:.2f} windows/s", result.loss,
                                     static_cast<double>(config_.batch) / seconds));
      progress->advance();
      if (done_ % config_.log_every == 0) {
        Json line = {{"update", done_},
                     {"loss", result.loss},
                     {"gradient_norm", result.gradient_norm},
                     {"rate_factor", config_.optimizer.rate_factor(done_ - 1)},
                     {"seconds", seconds},
                     {"windows_per_second", static_cast<double>(config_.batch) / seconds},
                     {"windows", done_ * config_.batch}};
        for (const auto& [group, norm] : optimizer_->group_norms()) {
          line[fmt::format("gradient_norm_{}", group_name(group))] = norm;
        }
        log(line);
      }
    }
    const bool last = done_ == config_.updates;
    if (held_out_ && !result.stop && (done_ % config_.validation.every == 0 || last)) {
      validate_averaged();
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
