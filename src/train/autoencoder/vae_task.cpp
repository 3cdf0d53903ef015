// SPDX-License-Identifier: Apache-2.0
#include "loci/train/autoencoder/vae_task.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

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
}

void VaeTask::create_model(const io::SafetensorsFile* checkpoint, const std::string& source) {
  const at::ScalarType compute = compute_type(recipe_.loop.compute, at::kCPU);
  std::map<std::string, at::Tensor> tensors;
  if (checkpoint != nullptr) {
    for (const io::TensorInfo& info : checkpoint->tensors()) {
      tensors.emplace(info.name, checkpoint->tensor(info.name));
    }
  }
  vae_ = std::make_unique<model::Vae>(
      checkpoint != nullptr ? model::Vae::from_tensors(recipe_.model, tensors, source)
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
  const uint64_t noise_key =
      static_cast<uint64_t>(samples.update) * static_cast<uint64_t>(communicator_.size()) +
      static_cast<uint64_t>(communicator_.rank());
  at::Generator random =
      at::make_generator<at::CPUGeneratorImpl>(hash_keys({recipe_.loop.seed, noise_key}));
  samples.before_last_backward();
  const model::Vae::Posterior posterior = [&] {
    const at::AutoGradMode differentiate(!recipe_.decoder_only);
    return vae_->encode(pixels);
  }();
  const at::Tensor noise = at::randn(posterior.mean.sizes(), random, at::kFloat);
  at::Tensor latents = sample_posterior(posterior, noise);
  if (generator_) {
    std::vector<at::Tensor> generated;
    for (size_t i = 0; i < clips.size(); ++i) {
      generated.push_back(
          generator_->generate(*vae_, posterior.mean.narrow(0, static_cast<int64_t>(i), 1),
                               clips[i], hash_keys({recipe_.loop.seed, samples.indices[i]})));
    }
    latents = at::cat(generated);
  }
  const VaeLoss loss = vae_loss(vae_->decode(latents), pixels, posterior, recipe_.loss);
  loss.total.backward();
  return {{"loss", loss.total.item<double>()},
          {"l1", loss.l1},
          {"structure", loss.structure},
          {"kl", loss.kl}};
}

void VaeTask::validate(int64_t update, RunLog& log) {
  communicator_.as_leader([&] {
    const DeferInterrupts defer;  // this may be another thread than the caller's
    std::map<std::string, at::Tensor> weights;
    for (const auto& [name, tensor] : vae_->parameters().all()) weights[name] = tensor.detach();
    model::Vae vae = model::Vae::from_tensors(recipe_.model, weights, "the EMA weights");
    vae.set_compute_type(compute_type(recipe_.loop.compute, at::kCPU));
    const VaeScore score =
        score_autoencoder(vae, *validation_, recipe_.validation, generator_.get());
    if (!recipe_.decoder_only) vae.set_statistics(score.mean, score.deviation);
    AtomicDirectory target(folder_ / "vae", AtomicDirectory::Existing::kReplace);
    vae.save(target.temporary());
    target.commit();
    Json values{{"validation/psnr", score.psnr},
                {"validation/first_psnr", score.first_psnr},
                {"validation/structure", score.structure},
                {"validation/posterior_deviation", score.posterior_deviation}};
    if (score.generated_psnr) values["validation/generated_psnr"] = *score.generated_psnr;
    log.metrics(update, std::move(values));
    const std::string generated =
        score.generated_psnr
            ? fmt::format(", {:.2f} dB from generated latents", *score.generated_psnr)
            : std::string();
    log_info("update {}: validation PSNR {:.2f} dB, {:.2f} dB in first frames{}", update,
             score.psnr, score.first_psnr, generated);
  });
}

}  // namespace loci::train
