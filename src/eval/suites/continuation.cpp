// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/suites/continuation.h"

#include <algorithm>
#include <chrono>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/output_path.h"
#include "loci/base/random.h"
#include "loci/camera/path/resample.h"
#include "loci/io/tensors/safetensors.h"
#include "loci/model/autoencoder/pixels.h"
#include "loci/model/weights/weight_hash.h"
#include "loci/sample/recording_encoder.h"

namespace loci::eval {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kBlock = 160;  // recorded frames read at a time

// File name of the latents of a clip at this frame size and rate.
std::string cache_name(const EvalClips& clips, size_t clip) {
  const ClipFormat& format = clips.format();
  const std::string text = fmt::format("{} {}x{} {} {}", clips.identity(clip), format.width,
                                       format.height, format.fps, format.grid.frames_per_latent);
  uint64_t hash = 0;
  for (const char c : text) hash = hash_keys({hash, static_cast<unsigned char>(c)});
  return fmt::format("{:016x}.safetensors", hash);
}

}  // namespace

at::Tensor encoded_frames(const model::Vae& vae, const EvalClips& clips, size_t clip,
                          int64_t frames, const fs::path& cache) {
  const at::NoGradGuard no_grad;
  LOCI_CHECK(!cache.empty(), "the cache folder is not set");
  const fs::path folder = cache / model::weight_hash(vae.parameters());
  const fs::path file = folder / cache_name(clips, clip);
  const int64_t count = clips.format().grid.latents_in_frames(frames);
  if (fs::exists(file)) {
    // The encoder is causal, so the latents of a longer context start with those of a shorter one.
    const at::Tensor kept = io::SafetensorsFile::open(file).tensor("latents");
    if (kept.dim() == 5 && kept.size(2) >= count) return kept.narrow(2, 0, count).clone();
  }
  sample::RecordingEncoder encoder(vae);
  std::vector<at::Tensor> parts;
  for (int64_t at = 0; at < frames;) {
    const int64_t many = std::min(at == 0 ? 1 + kBlock : kBlock, frames - at);
    parts.push_back(encoder.encode(clips.read(clip, at, many)));
    at += many;
  }
  // Contiguous, like the tensor read from the cache: BF16 products round differently for other
  // strides.
  at::Tensor latents = at::cat(parts, 2).contiguous();
  make_folders(folder);
  io::write_safetensors(file, {{"latents", latents}});
  return latents;
}

Continuation::Continuation(const sample::ModelFolder& folder, const EvalClips& clips, size_t clip,
                           const Sampling& sampling)
    : folder_(&folder),
      clips_(&clips),
      clip_(clip),
      sampling_(&sampling),
      cameras_(camera::latent_cameras(clips.clip(clip).trajectory.cameras, clips.format().grid)),
      prompt_(prompt_for(folder, clips.clip(clip).caption, sampling)),
      context_(encoded_frames(folder.vae(), clips, clip, clips.clip(clip).context_frames,
                              sampling.cache)),
      decoder_(std::make_unique<model::VaeDecoder>(folder.vae())) {
  const at::NoGradGuard no_grad;
  const int64_t reach = model::decoder_reach(folder.vae().config());
  for (int64_t at = std::max<int64_t>(0, context_.size(2) - reach); at < context_.size(2); ++at) {
    check_interrupt();
    decoder_->decode(context_.narrow(2, at, 1));
  }
}

ContinuationCost Continuation::run(const Arm& arm, const FrameSink& take) const {
  using Clock = std::chrono::steady_clock;
  const at::NoGradGuard no_grad;
  const ClipFormat& format = clips_->format();
  sample::Stream stream(folder_->transformer(), nullptr,
                        stream_options(*folder_, arm, *sampling_, format.width, format.height),
                        prompt_);
  stream.set_readout(arm.readout, arm.seed.value_or(sampling_->seed()));
  const std::span<const camera::Camera> cameras = cameras_;
  const auto known = static_cast<size_t>(context_.size(2));
  int64_t chunks = 0;  // after frame 0
  const auto reset_if_due = [&] {
    if (arm.reset_every > 0 && ++chunks % arm.reset_every == 0) stream.reset_states();
  };
  stream.accept_recording(context_, cameras.first(known), reset_if_due);
  model::VaeDecoder decoder = *decoder_;
  ContinuationCost cost;
  for (size_t at = known, size = 0;; at += size) {
    size = static_cast<size_t>(stream.next_size());
    if (at + size > cameras.size()) break;
    check_interrupt();
    const auto started = Clock::now();
    reset_if_due();
    const sample::Chunk chunk = stream.push(cameras.subspan(at, size));
    const at::Tensor frames = model::frames_from_pixels(decoder.decode(chunk.latents));
    cost.seconds += std::chrono::duration<double>(Clock::now() - started).count();
    cost.visible += static_cast<double>(chunk.visible.size());
    ++cost.chunks;
    take(format.grid.frames_of_latent(static_cast<int64_t>(at)).begin, frames);
  }
  cost.visible /= static_cast<double>(std::max<int64_t>(1, cost.chunks));
  cost.history_bytes = stream.history_bytes();
  return cost;
}

void Continuation::reconstruct(const FrameSink& take) const {
  const at::NoGradGuard no_grad;
  const at::Tensor latents = encoded_frames(folder_->vae(), *clips_, clip_,
                                            clips_->clip(clip_).frames(), sampling_->cache);
  model::VaeDecoder decoder = *decoder_;
  const camera::TimeGrid& grid = clips_->format().grid;
  for (int64_t at = context_.size(2); at < latents.size(2); at += grid.latents_per_chunk) {
    check_interrupt();
    const int64_t count = std::min(grid.latents_per_chunk, latents.size(2) - at);
    take(grid.frames_of_latent(at).begin,
         model::frames_from_pixels(decoder.decode(latents.narrow(2, at, count))));
  }
}

}  // namespace loci::eval
