// SPDX-License-Identifier: Apache-2.0
#include "loci/train/autoencoder/vae_task.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/autograd/autograd.h>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/base/random.h"
#include "loci/model/autoencoder/pixels.h"
#include "loci/train/autoencoder/transform_fit.h"
#include "loci/train/autoencoder/vae_score.h"
#include "loci/train/autoencoder/vae_start.h"
#include "loci/train/loop/compute_type.h"
#include "loci/train/losses/vae_loss.h"

namespace loci::train {

namespace {

bool belongs_to_encoder(const model::Parameter& parameter) {
  return parameter.name.starts_with("encoder.") || parameter.name.starts_with("quant_conv.");
}

// Standard normal noise for latents [B, …]; key i determines that of clip i.
at::Tensor sample_noise(const at::Tensor& latents, std::span<const uint64_t> keys) {
  std::vector<at::Tensor> noise;
  for (const uint64_t key : keys) {
    at::Generator random = at::make_generator<at::CPUGeneratorImpl>(key);
    noise.push_back(at::randn(latents.sizes().slice(1), random, at::kFloat));
  }
  return at::stack(noise);
}

// The weight of the last convolution before the pixels: the refiner's, if there is one.
at::Tensor last_weight(const model::Vae& vae) {
  const std::string name =
      vae.config().refiner_dim > 0 ? "decoder.refiner.conv_out.weight" : "decoder.conv_out.weight";
  const std::vector<model::Parameter>& all = vae.parameters().all();
  const auto found = std::ranges::find(all, name, &model::Parameter::name);
  LOCI_CHECK(found != all.end(), "the autoencoder has no {}", name);
  return found->tensor;
}

bool belongs_to_transform(const model::Parameter& parameter) {
  return parameter.name.find("_transform.") != std::string::npos;
}

}  // namespace

VaeTask::VaeTask(VaeRecipe recipe, const std::filesystem::path& folder, Communicator& communicator)
    : recipe_(std::move(recipe)), folder_(folder), communicator_(communicator) {
  for (const PhaseSpan& phase : recipe_.loop.phases) {
    if (phase.batch % communicator_.size() == 0) continue;
    fail("batch is {}; expected a multiple of the number of ranks, {}", phase.batch,
         communicator_.size());
  }
  training_ = open_video_clips(recipe_.data, ClipSplit::kTraining, recipe_.loop.seed,
                               communicator_.rank(), communicator_.size());
  validation_ = open_video_clips(recipe_.data, ClipSplit::kValidation, recipe_.loop.seed);
  if (recipe_.lpips.weight > 0) lpips_ = model::Lpips::load(recipe_.lpips.file);
  if (!recipe_.validation.lpips.empty() && communicator_.leader()) {
    validation_lpips_ = model::Lpips::load(recipe_.validation.lpips);
  }
  if (recipe_.adversarial.weight > 0) {
    adversary_ =
        std::make_unique<Adversary>(recipe_.adversarial, recipe_.loop.optimizer, recipe_.loop.seed,
                                    compute_type(recipe_.loop.compute, at::kCPU), communicator_);
  }
}

io::NamedTensors VaeTask::task_state() {
  return adversary_ ? adversary_->state() : io::NamedTensors();
}

void VaeTask::load_task_state(const io::SafetensorsFile* state, const std::string& source) {
  if (!adversary_) return;
  if (state == nullptr) {
    fail("the checkpoint in {} has no discriminator; resume with the recipe of the run", source);
  }
  adversary_->load_state(*state, source);
}

Json VaeTask::architecture() const {
  Json json{{"model", recipe_.model.to_json()}};
  if (recipe_.adversarial.weight > 0) json["discriminator"] = recipe_.adversarial.architecture();
  return json;
}

void VaeTask::create_model(const io::SafetensorsFile* checkpoint, const std::string& source) {
  const at::ScalarType compute = compute_type(recipe_.loop.compute, at::kCPU);
  std::map<std::string, at::Tensor> tensors;
  if (checkpoint != nullptr) {
    for (const io::TensorInfo& info : checkpoint->tensors()) {
      tensors.emplace(info.name, checkpoint->tensor(info.name));
    }
  }
  vae_ = std::make_unique<model::Vae>(checkpoint != nullptr
                                          ? model::Vae::from_tensors(recipe_.model, tensors, source)
                                          : initial_vae(recipe_));
  vae_->set_compute_type(compute);
  if (!recipe_.world_model.empty()) {
    generator_ = std::make_unique<LatentGenerator>(recipe_.world_model, compute);
    for (const VaePhase& phase : recipe_.phases) {
      generator_->check_clip(phase.frames, recipe_.model);
    }
    generator_->check_clip(recipe_.validation.frames, recipe_.model);
  }
  const bool new_transform = recipe_.start.empty() && recipe_.model.block_transform;
  if (checkpoint == nullptr && (new_transform || recipe_.kept_channels > 0)) {
    fit_transform_on_leader();
  }
}

void VaeTask::fit_transform_on_leader() {
  communicator_.as_leader([&] {
    const auto clips = open_video_clips(recipe_.data, ClipSplit::kTraining, recipe_.loop.seed);
    if (recipe_.kept_channels > 0) {
      extend_transform(*vae_, recipe_.kept_channels, *clips, recipe_.transform_clips);
    } else {
      fit_transform(*vae_, *clips, recipe_.transform_clips);
    }
  });
  for (const model::Parameter& parameter : vae_->parameters().all()) {
    if (belongs_to_transform(parameter)) communicator_.broadcast(parameter.tensor, 0);
  }
}

std::vector<model::Parameter> VaeTask::trained_parameters() const {
  std::vector<model::Parameter> trained = vae_->parameters().all();
  if (recipe_.decoder_only) std::erase_if(trained, belongs_to_encoder);
  std::erase_if(trained, belongs_to_transform);
  return trained;
}

world::Clip VaeTask::training_clip(const VaePhase& phase, uint64_t index) {
  // VideoClips numbers the clips of each rank separately.
  return training_->clip(index / static_cast<uint64_t>(communicator_.size()), phase.frames);
}

at::Tensor VaeTask::augmented(const world::Clip& clip, const VaePhase& phase,
                              uint64_t index) const {
  Random random{recipe_.loop.seed, index};
  at::Tensor frames = clip.frames;
  frames = frames.narrow(1, random.between(0, frames.size(1) - phase.height), phase.height)
               .narrow(2, random.between(0, frames.size(2) - phase.width), phase.width);
  if (random.chance(0.5)) frames = frames.flip(2);
  return model::pixels_from_frames(frames);
}

LossTerms VaeTask::add_gradients(const UpdateSamples& samples) {
  const VaePhase& phase = recipe_.phases[samples.phase];
  std::vector<at::Tensor> pictures;
  std::vector<world::Clip> clips;  // for the generator
  for (const uint64_t index : samples.indices) {
    world::Clip clip = training_clip(phase, index);
    if (generator_) {  // the cameras are those of whole, unmirrored frames
      pictures.push_back(model::pixels_from_frames(clip.frames));
      clips.push_back(std::move(clip));
    } else {
      pictures.push_back(augmented(clip, phase, index));
    }
  }
  const at::Tensor pixels = at::cat(pictures);
  const model::Vae::Posterior posterior = [&] {
    const at::AutoGradMode differentiate(!recipe_.decoder_only);
    return vae_->encode(pixels);
  }();
  std::vector<uint64_t> keys;
  for (const uint64_t index : samples.indices) {
    keys.push_back(hash_keys({recipe_.loop.seed, index}));
  }
  at::Tensor latents = sample_posterior(posterior, sample_noise(posterior.mean, keys));
  if (generator_) {
    std::vector<at::Tensor> generated;
    for (size_t i = 0; i < clips.size(); ++i) {
      generated.push_back(generator_->generate(
          *vae_, posterior.mean.narrow(0, static_cast<int64_t>(i), 1), clips[i], keys[i]));
    }
    latents = at::cat(generated);
  }
  const at::Tensor decoded = vae_->decode(latents);
  PixelLosses losses = pixel_losses(samples.update, decoded, pixels, keys);
  const at::Tensor kl = kl_loss(posterior);
  losses.terms.front().second += recipe_.loss.kl * kl.item<double>();
  losses.terms.emplace_back("kl", kl.item<double>());
  samples.before_last_backward();
  if (kl.requires_grad() && recipe_.loss.kl > 0) {
    torch::autograd::backward({decoded, recipe_.loss.kl * kl}, {losses.gradient, {}});
  } else {
    torch::autograd::backward({decoded}, {losses.gradient});
  }
  return std::move(losses.terms);
}

// The gradient stops at the decoded pixels. The networks of the losses are thus differentiated
// once, although an adaptive weight needs the gradients of two losses.
VaeTask::PixelLosses VaeTask::pixel_losses(int64_t update, const at::Tensor& decoded,
                                           const at::Tensor& pixels,
                                           std::span<const uint64_t> keys) {
  const at::Tensor leaf = decoded.detach().requires_grad_(true);
  const ReconstructionLoss loss = reconstruction_loss(leaf, pixels, recipe_.loss);
  at::Tensor total = loss.total;
  PixelLosses all;
  all.terms = {{"loss", 0}, {"l1", loss.l1}, {"structure", loss.structure}};
  if (lpips_) {
    const ClipParts parts(recipe_.lpips.parts, pixels.sizes(), keys);
    const at::Tensor lpips = lpips_->loss(parts.of(leaf), parts.of(pixels));
    total = total + recipe_.lpips.weight * lpips;
    all.terms.emplace_back("lpips", lpips.item<double>());
  }
  double value = total.item<double>();
  all.gradient = torch::autograd::grad({total}, {leaf}).front();
  if (adversary_ && adversary_->begun(update)) {
    const Adversary::Result judged = adversary_->update(update, decoded, pixels, keys);
    double weight = recipe_.adversarial.weight;
    if (recipe_.adversarial.adaptive) {
      weight *= adversarial_factor(decoded, all.gradient, judged.gradient);
    }
    all.gradient.add_(judged.gradient, weight);
    value += weight * judged.loss.item<double>();
    all.terms.emplace_back("adversarial", judged.loss.item<double>());
    all.terms.emplace_back("adversarial_weight", weight);
    all.terms.emplace_back("discriminator", judged.discriminator);
  }
  all.terms.front().second = value;
  return all;
}

double VaeTask::adversarial_factor(const at::Tensor& decoded, const at::Tensor& others,
                                   const at::Tensor& adversarial) {
  const auto at_last_layer = [&](const at::Tensor& gradient) {
    return torch::autograd::grad({decoded}, {last_weight(*vae_)}, {gradient},
                                 /*retain_graph=*/true)
        .front()
        .flatten();
  };
  // Averaged over ranks, so that the factor does not depend on their number.
  const at::Tensor both = at::stack({at_last_layer(others), at_last_layer(adversarial)});
  communicator_.all_reduce_mean(both);
  const at::Tensor norms = both.norm(2, 1);
  return adaptive_factor(norms[0].item<double>(), norms[1].item<double>());
}

void VaeTask::validate(int64_t update, RunLog& log) {
  communicator_.as_leader([&] {
    const DeferInterrupts defer;  // this may be another thread than the caller's
    std::map<std::string, at::Tensor> weights;
    for (const auto& [name, tensor] : vae_->parameters().all()) weights[name] = tensor.detach();
    model::Vae vae = model::Vae::from_tensors(recipe_.model, weights, "the EMA weights");
    vae.set_compute_type(compute_type(recipe_.loop.compute, at::kCPU));
    const VaeScore score =
        score_autoencoder(vae, *validation_, recipe_.validation, generator_.get(),
                          validation_lpips_ ? &*validation_lpips_ : nullptr);
    // Latents of a transform keep their scale, in which equal errors are equal errors of pixels.
    if (!recipe_.decoder_only && !recipe_.model.block_transform) {
      vae.set_statistics(score.mean, score.deviation);
    }
    AtomicDirectory target(folder_ / "vae", AtomicDirectory::Existing::kReplace);
    vae.save(target.temporary());
    target.commit();
    Json values{{"validation/psnr", score.psnr},
                {"validation/first_psnr", score.first_psnr},
                {"validation/structure", score.structure},
                {"validation/sharpness", score.sharpness},
                {"validation/contrast", score.contrast},
                {"validation/posterior_deviation", score.posterior_deviation}};
    std::string more =
        fmt::format(", sharpness {:.2f}, contrast {:.2f}", score.sharpness, score.contrast);
    if (score.lpips) {
      values[fmt::format("validation/lpips_{}", validation_lpips_->name())] = *score.lpips;
      more += fmt::format(", LPIPS {:.3f}", *score.lpips);
    }
    if (score.generated_psnr) {
      values["validation/generated_psnr"] = *score.generated_psnr;
      more += fmt::format(", {:.2f} dB from generated latents", *score.generated_psnr);
    }
    log.metrics(update, std::move(values));
    log_info("update {}: validation PSNR {:.2f} dB, {:.2f} dB in first frames{}", update,
             score.psnr, score.first_psnr, more);
  });
}

}  // namespace loci::train
