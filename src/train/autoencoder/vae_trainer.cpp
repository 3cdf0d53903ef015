// SPDX-License-Identifier: Apache-2.0
#include "loci/train/autoencoder/vae_trainer.h"

#include <chrono>
#include <cmath>
#include <csignal>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/base/progress.h"
#include "loci/base/random.h"
#include "loci/model/autoencoder/pixels.h"
#include "loci/train/loop/compute_type.h"
#include "loci/train/autoencoder/transform_fit.h"

namespace loci::train {

namespace {

using Clock = std::chrono::steady_clock;

bool belongs_to_encoder(const model::Parameter& parameter) {
  return parameter.name.starts_with("encoder.") || parameter.name.starts_with("quant_conv.");
}

bool belongs_to_transform(const model::Parameter& parameter) {
  return parameter.name.find("_transform.") != std::string::npos;
}

std::vector<double> to_list(const at::Tensor& values) {
  const at::Tensor wide = values.to(at::kDouble).contiguous();
  return {wide.data_ptr<double>(), wide.data_ptr<double>() + wide.numel()};
}

void check_clip_length(const std::string& what, int64_t frames, const model::VaeConfig& model) {
  if ((frames - 1) % model.temporal_factor() == 0) return;
  fail("{} is {}; a clip has one frame more than a multiple of {}", what, frames,
       model.temporal_factor());
}

// The autoencoder to go on from. A refiner that it lacks begins by adding nothing, and channels
// that it lacks by not being heard; its transform still lacks them.
model::Vae load_start(const VaeTrainConfig& config) {
  model::Vae start = model::Vae::load(config.start);
  if (start.config().refiner_dim == config.model.refiner_dim &&
      start.config().z_dim == config.model.z_dim) {
    return start;
  }
  const at::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> tensors;
  const model::Vae grown(config.model, {.seed = config.seed});
  for (const model::Parameter& each : grown.parameters().all()) tensors[each.name] = each.tensor;
  for (const model::Parameter& each : start.parameters().all()) {
    at::Tensor& to = tensors.at(each.name);
    if (to.sizes() == each.tensor.sizes()) {
      to = each.tensor;
      continue;
    }
    to = at::zeros_like(to);
    // New channels go straight through the layer between latents and decoder.
    if (each.name == "post_quant_conv.weight") to.view({to.size(0), -1}).fill_diagonal_(1);
    at::Tensor corner = to;
    for (int64_t d = 0; d < to.dim(); ++d) corner = corner.narrow(d, 0, each.tensor.size(d));
    corner.copy_(each.tensor);
  }
  return model::Vae::from_tensors(config.model, tensors, config.start.string());
}

}  // namespace

VaePhase VaePhase::from(const ConfigReader& reader, const model::VaeConfig& model,
                        const VideoClipsConfig& data) {
  VaePhase phase;
  phase.updates = reader.get<int64_t>("updates", phase.updates, 1, 1 << 30);
  phase.frames = reader.get<int64_t>("frames", phase.frames, 1, 1000);
  phase.batch = reader.get<int64_t>("batch", phase.batch, 1, 1024);
  phase.width = reader.get<int64_t>("width", data.width, 1, data.width);
  phase.height = reader.get<int64_t>("height", data.height, 1, data.height);
  model.check_frame_size(phase.height, phase.width);
  check_clip_length(reader.where() + ": frames", phase.frames, model);
  return phase;
}

int64_t VaeTrainConfig::updates() const {
  int64_t all = 0;
  for (const VaePhase& phase : phases) all += phase.updates;
  return all;
}

VaeTrainConfig VaeTrainConfig::from_json(const Json& json, const std::string& where) {
  const ConfigReader reader(json, where);
  VaeTrainConfig config;
  config.source = json;
  reader.ignore({"model"});
  config.start = reader.get<std::string>("start", "");
  config.decoder_only = reader.get<bool>("decoder_only", config.decoder_only);
  if (config.start.empty()) {
    config.model =
        model::VaeConfig::from_json(json.value("model", Json::object()), where + ": model");
    if (config.decoder_only) fail("{}: decoder_only needs a trained encoder; set start", where);
  } else {
    if (json.contains("model")) fail("{}: with start, its own config counts; drop model", where);
    config.model = model::Vae::load(config.start).config();
    if (reader.has("refiner") && config.model.refiner_dim > 0) {
      fail("{}: {} has a refiner already; drop refiner", where, config.start.string());
    }
  }
  if (reader.has("refiner")) {
    if (config.start.empty()) {
      fail("{}: refiner adds one to what start holds; set model.refiner_dim for a new model",
           where);
    }
    const ConfigReader refiner = reader.section("refiner");
    config.model.refiner_dim = refiner.get<int64_t>("dim", 48, 1, 8192);
    config.model.refiner_blocks = refiner.get<int64_t>("blocks", 2, 1, 16);
  }
  if (reader.has("channels")) {
    const int64_t before = config.model.z_dim;
    if (config.start.empty() || !config.model.block_transform) {
      fail(
          "{}: channels adds some to the block transform that start holds; set model.z_dim for a "
          "new model",
          where);
    }
    config.model.z_dim = reader.get<int64_t>("channels", before, before + 1, 4096);
    config.kept_channels = before;
    config.model.latents_mean.resize(static_cast<size_t>(config.model.z_dim), 0.0);
    config.model.latents_std.resize(static_cast<size_t>(config.model.z_dim), 1.0);
  }
  config.decoder_only = config.decoder_only || config.model.block_transform;
  config.guesser = reader.get<std::string>("guesser", "");
  config.transform_clips =
      reader.get<int64_t>("transform_clips", config.transform_clips, 1, 1 << 30);
  config.data = VideoClipsConfig::from(reader.section("data"));
  config.loss = VaeLossWeights::from(reader.section("loss"));
  for (const ConfigReader& phase : reader.sections("phases")) {
    config.phases.push_back(VaePhase::from(phase, config.model, config.data));
  }
  if (!config.guesser.empty()) {
    if (!config.decoder_only || config.start.empty()) {
      fail("{}: guesser is for the decoder of what it was trained on; set start and decoder_only",
           where);
    }
    if (!config.data.folder.empty()) {
      fail("{}: guesser needs cameras, which videos lack; drop data.folder", where);
    }
    for (const VaePhase& phase : config.phases) {
      if (phase.width == config.data.width && phase.height == config.data.height) continue;
      fail("{}: guesser needs whole frames; drop width and height of phases", where);
    }
  }
  if (config.phases.empty()) fail("{}: phases is empty; list at least one", where);
  config.compute = read_compute(reader);
  config.ema = reader.get<double>("ema", config.ema, 0.0, 1.0);
  config.seed = reader.get<uint64_t>("seed", config.seed);
  config.checkpoint_every =
      reader.get<int64_t>("checkpoint_every", config.checkpoint_every, 1, 1 << 30);
  config.keep = reader.get<int64_t>("keep", config.keep, 1, 1000);
  config.validate_every = reader.get<int64_t>("validate_every", config.validate_every, 1, 1 << 30);
  config.validation_clips =
      reader.get<int64_t>("validation_clips", config.validation_clips, 1, 10'000);

  const ConfigReader optimizer = reader.section("optimizer");
  config.optimizer.kind = optimizer.choose("kind", config.optimizer.kind, {"adamw", "muon"});
  config.rate = optimizer.get<double>("rate", config.rate, 0.0, 10.0);
  config.optimizer.muon_rate = optimizer.get<double>("muon_rate", 0.02, 0.0, 10.0);
  config.optimizer.beta2 = optimizer.get<double>("beta2", 0.99, 0.0, 1.0);
  config.optimizer.weight_decay = optimizer.get<double>("weight_decay", 0.0, 0.0, 1.0);
  config.optimizer.clip = optimizer.get<double>("clip", 1.0, 1e-6, 1e6);
  config.optimizer.warmup = optimizer.get<int64_t>("warmup", 50, 0, 1 << 30);
  config.optimizer.final_share = optimizer.get<double>("final_share", 0.05, 0.0, 1.0);
  config.optimizer.decay_updates = config.updates();
  config.optimizer.rates = {{Group::kBackbone, config.rate}};
  config.model.check_frame_size(config.data.height, config.data.width);
  config.validation_frames =
      reader.get<int64_t>("validation_frames", config.validation_frames, 1, 1000);
  check_clip_length(where + ": validation_frames", config.validation_frames, config.model);
  reader.finish();
  return config;
}

VaeTrainer::VaeTrainer(VaeTrainConfig config, const std::filesystem::path& folder, bool resume,
                       Communicator& communicator)
    : config_(std::move(config)), folder_(folder), communicator_(communicator) {
  for (const VaePhase& phase : config_.phases) {
    if (phase.batch % communicator_.size() == 0) continue;
    fail("a phase has batches of {} clips, which do not divide among {} ranks", phase.batch,
         communicator_.size());
  }
  const std::optional<TrainingState> saved = folder_.load_newest();
  if (saved && !resume) {
    fail("{} already holds a run at update {}; add --resume to go on, or choose another folder",
         folder.string(), saved->update);
  }
  const auto stored = saved ? by_name(saved->model) : std::map<std::string, at::Tensor>();
  vae_ = std::make_unique<model::Vae>(
      saved                   ? model::Vae::from_tensors(config_.model, stored, folder.string())
      : config_.start.empty() ? model::Vae(config_.model, {.seed = config_.seed})
                              : load_start(config_));
  vae_->set_compute_type(compute_type(config_.compute, at::kCPU));
  if (!config_.guesser.empty()) {
    guesser_ =
        std::make_unique<LatentGuesser>(config_.guesser, compute_type(config_.compute, at::kCPU));
    for (const VaePhase& phase : config_.phases) guesser_->check_clip(phase.frames, config_.model);
    guesser_->check_clip(config_.validation_frames, config_.model);
  }
  std::vector<model::Parameter> trained = vae_->parameters().all();
  if (config_.decoder_only) std::erase_if(trained, belongs_to_encoder);
  std::erase_if(trained, belongs_to_transform);
  const bool new_transform = config_.start.empty() && config_.model.block_transform;
  if (!saved && (new_transform || config_.kept_channels > 0)) fit_new_transform();
  optimizer_ = std::make_unique<Optimizer>(config_.optimizer, trained, communicator_);
  averages_ = std::make_unique<AveragedWeights>(
      vae_->parameters().all(), *optimizer_, communicator_, config_.ema,
      saved ? by_name(saved->ema) : std::map<std::string, at::Tensor>());
  if (saved) {
    optimizer_->load_state(by_name(saved->optimizer));
    done_ = saved->update;
  }
  if (communicator_.leader()) folder_.truncate_log(done_);
  training_ = open_video_clips(config_.data, ClipSplit::kTraining, config_.seed,
                               communicator_.rank(), communicator_.size());
  validation_ = open_video_clips(config_.data, ClipSplit::kValidation, config_.seed);
}

void VaeTrainer::fit_new_transform() {
  communicator_.as_leader([&] {
    const auto clips = open_video_clips(config_.data, ClipSplit::kTraining, config_.seed);
    if (config_.kept_channels > 0) {
      extend_transform(*vae_, config_.kept_channels, *clips, config_.transform_clips);
    } else {
      fit_transform(*vae_, *clips, config_.transform_clips);
    }
  });
  for (const model::Parameter& parameter : vae_->parameters().all()) {
    if (belongs_to_transform(parameter)) communicator_.broadcast(parameter.tensor, 0);
  }
}

const VaePhase& VaeTrainer::phase() const {
  int64_t end = 0;
  for (const VaePhase& phase : config_.phases) {
    end += phase.updates;
    if (done_ < end) return phase;
  }
  return config_.phases.back();
}

uint64_t VaeTrainer::first_clip() const {
  uint64_t clips = 0;
  int64_t left = done_;
  for (const VaePhase& phase : config_.phases) {
    const int64_t updates = std::min(left, phase.updates);
    clips += static_cast<uint64_t>(updates) * static_cast<uint64_t>(phase.batch);
    left -= updates;
  }
  return clips / static_cast<uint64_t>(communicator_.size());
}

VaeLoss VaeTrainer::update() {
  const DeferInterrupts to_the_end;  // heard after the update, with a checkpoint
  const VaePhase& now = phase();
  const auto rank = static_cast<uint64_t>(communicator_.rank());
  const auto ranks = static_cast<uint64_t>(communicator_.size());
  const uint64_t first = first_clip();
  std::vector<at::Tensor> clips;
  std::vector<world::Clip> recorded;  // for the guesser
  for (int64_t i = 0; i < now.batch / communicator_.size(); ++i) {
    const uint64_t number = first + static_cast<uint64_t>(i);
    Random random{config_.seed, number * ranks + rank};
    const world::Clip whole = training_->clip(number, now.frames);
    if (guesser_) {  // by its cameras: neither cut nor swapped
      clips.push_back(model::pixels_from_frames(whole.frames));
      recorded.push_back(whole);
      continue;
    }
    at::Tensor clip = whole.frames;
    clip = clip.narrow(1, random.between(0, clip.size(1) - now.height), now.height)
               .narrow(2, random.between(0, clip.size(2) - now.width), now.width);
    if (random.chance(0.5)) clip = clip.flip(2);  // left and right swapped
    clips.push_back(model::pixels_from_frames(clip));
  }
  const at::Tensor pixels = at::cat(clips);
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(
      hash_keys({config_.seed, static_cast<uint64_t>(done_) * ranks + rank}));

  optimizer_->zero_gradients();
  optimizer_->arm();
  const model::Vae::Posterior posterior = [&] {
    const at::AutoGradMode differentiate(!config_.decoder_only);
    return vae_->encode(pixels);
  }();
  const at::Tensor noise = at::randn(posterior.mean.sizes(), generator, at::kFloat);
  at::Tensor latents = sample_posterior(posterior, noise);
  if (guesser_) {
    std::vector<at::Tensor> guesses;
    for (size_t i = 0; i < recorded.size(); ++i) {
      guesses.push_back(guesser_->guess(*vae_, posterior.mean.narrow(0, static_cast<int64_t>(i), 1),
                                        recorded[i],
                                        hash_keys({config_.seed, (first + i) * ranks + rank})));
    }
    latents = at::cat(guesses);
  }
  VaeLoss loss = vae_loss(vae_->decode(latents), pixels, posterior, config_.loss);
  loss.total.backward();
  at::Tensor shared = at::tensor(
      {loss.total.item<double>(), loss.l1, loss.structure, loss.kl, interrupted() ? 1.0 : 0.0},
      at::kDouble);
  communicator_.all_reduce_mean(shared);
  gradient_norm_ = optimizer_->step(done_);
  ++done_;
  averages_->update(done_);
  const auto* mean = shared.const_data_ptr<double>();
  stop_ = mean[4] > 0;
  return {.total = shared[0], .l1 = mean[1], .structure = mean[2], .kl = mean[3]};
}

std::unique_ptr<model::Vae> VaeTrainer::averaged() const {
  const io::NamedTensors weights = averages_->gathered();
  if (!communicator_.leader()) return nullptr;
  auto vae = std::make_unique<model::Vae>(
      model::Vae::from_tensors(config_.model, by_name(weights), "the averaged weights"));
  vae->set_compute_type(compute_type(config_.compute, at::kCPU));
  return vae;
}

VaeScore VaeTrainer::validate(const model::Vae& vae) {
  const at::NoGradGuard no_grad;
  VaeScore score;
  std::vector<at::Tensor> means, deviations;
  for (int64_t i = 0; i < config_.validation_clips; ++i) {
    const world::Clip clip = validation_->clip(static_cast<uint64_t>(i), config_.validation_frames);
    const at::Tensor& frames = clip.frames;
    const at::Tensor pixels = model::pixels_from_frames(frames);
    const model::Vae::Posterior posterior = vae.encode(pixels);
    const at::Tensor decoded = vae.decode(posterior.mean).clamp(-1, 1);
    const at::Tensor back = model::frames_from_pixels(decoded);
    const auto share = 1.0 / static_cast<double>(config_.validation_clips);
    score.psnr += share * psnr(back, frames);
    if (guesser_) {
      const at::Tensor guess = guesser_->guess(vae, posterior.mean, clip, static_cast<uint64_t>(i));
      score.guessed_psnr = score.guessed_psnr.value_or(0) +
                           share * psnr(model::frames_from_pixels(vae.decode(guess)), frames);
    }
    score.first_psnr += share * psnr(back[0], frames[0]);
    score.structure += share * structure_loss(decoded, pixels).item<double>();
    means.push_back(posterior.mean.transpose(0, 1).flatten(1));  // [z, latents * h * w]
    deviations.push_back(at::exp(0.5 * posterior.log_variance).transpose(0, 1).flatten(1));
  }
  const at::Tensor all = at::cat(means, 1);
  const at::Tensor deviation = all.std(1).clamp_min(1e-3);
  score.mean = to_list(all.mean(1));
  score.deviation = to_list(deviation);
  score.posterior_deviation = (at::cat(deviations, 1).mean(1) / deviation).mean().item<double>();
  return score;
}

void VaeTrainer::save() {
  TrainingState state;
  state.update = done_;
  state.ema = averages_->gathered();
  state.optimizer = optimizer_->state();
  state.config = config_.source;
  communicator_.as_leader([&] {
    for (const auto& [name, tensor] : vae_->parameters().all()) {
      state.model.emplace_back(name, tensor.detach());
    }
    folder_.save(state, config_.keep);
  });
}

void VaeTrainer::export_model() {
  const std::unique_ptr<model::Vae> vae = averaged();
  communicator_.as_leader([&] {
    const DeferInterrupts to_the_end;
    const VaeScore score = validate(*vae);
    if (!config_.decoder_only) vae->set_statistics(score.mean, score.deviation);
    AtomicDirectory target(folder_.path() / "vae", AtomicDirectory::Existing::kReplace);
    vae->save(target.temporary());
    target.commit();
    Json metrics{{"update", done_},
                 {"psnr", score.psnr},
                 {"first_psnr", score.first_psnr},
                 {"validation_structure", score.structure},
                 {"posterior_deviation", score.posterior_deviation}};
    if (score.guessed_psnr) metrics["guessed_psnr"] = *score.guessed_psnr;
    folder_.log(metrics);
    log_info(
        "update {}: PSNR {:.2f} dB on unseen clips ({:.2f} dB in first frames){}", done_,
        score.psnr, score.first_psnr,
        score.guessed_psnr ? fmt::format(", {:.2f} dB half guessed", *score.guessed_psnr) : "");
  });
}

void VaeTrainer::run() {
  std::optional<Progress> progress;
  if (communicator_.leader()) {
    progress.emplace("train vae", static_cast<uint64_t>(config_.updates()), "updates",
                     static_cast<uint64_t>(done_));
    log_info("{} parameters, update {} of {}", vae_->parameters().count(), done_,
             config_.updates());
  }
  Clock::time_point before = Clock::now();
  while (done_ < config_.updates()) {
    const VaeLoss loss = update();
    const auto total = loss.total.item<double>();
    if (!std::isfinite(total) || !std::isfinite(gradient_norm_)) {
      fail_check(
          "the loss of update {} is {}, its gradient {} (not finite: {}); the last checkpoint in "
          "{} "
          "is good, lower optimizer.rate and resume",
          done_, total, gradient_norm_, optimizer_->not_finite_gradient(), folder_.path().string());
    }
    if (communicator_.leader()) {
      const Clock::time_point now = Clock::now();
      folder_.log({{"update", done_},
                   {"loss", total},
                   {"l1", loss.l1},
                   {"structure", loss.structure},
                   {"kl", loss.kl},
                   {"gradient_norm", gradient_norm_},
                   {"rate", config_.rate * config_.optimizer.rate_factor(done_ - 1)},
                   {"seconds", std::chrono::duration<double>(now - before).count()}});
      before = now;
      progress->set_note(fmt::format("loss {:.4f}", total));
      progress->advance();
    }
    if (done_ % config_.checkpoint_every == 0 || done_ == config_.updates() || stop_) save();
    if (stop_) {
      log_info("interrupted: checkpoint written at update {}", done_);
      check_interrupt();
      throw Interrupted(SIGTERM);  // another rank was
    }
    if (done_ % config_.validate_every == 0 || done_ == config_.updates()) export_model();
  }
}

}  // namespace loci::train
