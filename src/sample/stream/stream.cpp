// SPDX-License-Identifier: Apache-2.0
#include "loci/sample/stream/stream.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/random.h"
#include "loci/camera/lens.h"
#include "loci/model/autoencoder/pixels.h"
#include "loci/sample/solvers/denoise.h"
#include "loci/sample/stream/finite.h"

namespace loci::sample {

Stream::Stream(const model::Transformer& model, const model::Vae* vae, const StreamOptions& options,
               const Prompt& prompt)
    : model_(&model), vae_(vae), options_(options), prompt_(prompt) {
  options_.check();
  options_.history.aspect =
      static_cast<double>(options.latent_width) / static_cast<double>(options.latent_height);
  if (vae != nullptr && vae->config().z_dim != model.config().channels) {
    fail(
        "the autoencoder has {} latent channels, the transformer {}; use models that were trained "
        "together",
        vae->config().z_dim, model.config().channels);
  }
  options_.history.chunk = model.config().chunk_size;
  main_ = make_stream(prompt_.embedding);
  if (options_.guidance != 1) negative_ = make_stream(prompt_.negative_embedding);
  if (vae != nullptr) {
    options_.tiling.check(vae->config());
    decoder_.emplace(*vae, model::VaeStreamOptions{.tiling = options_.tiling});
  }
}

model::TextKeys Stream::text_keys(const at::Tensor& embedding) const {
  const at::NoGradGuard no_grad;
  const at::Tensor text =
      embedding.defined() ? embedding : at::zeros({1, model_->config().text_dim}, at::kFloat);
  if (text.dim() != 2 || text.size(1) != model_->config().text_dim) {
    fail("the text embeddings have {} values, the transformer expects {}",
         text.dim() == 2 ? text.size(1) : 0, model_->config().text_dim);
  }
  return model_->text_keys(text.unsqueeze(0));
}

std::unique_ptr<CachedTransformer> Stream::make_stream(const at::Tensor& embedding) const {
  return std::make_unique<CachedTransformer>(
      *model_, model_->config().grid(options_.latent_height, options_.latent_width),
      text_keys(embedding), memory::make_history(options_.history), options_.kv);
}

std::vector<CachedTransformer*> Stream::streams() const {
  if (negative_ == nullptr) return {main_.get()};
  return {main_.get(), negative_.get()};
}

void Stream::open(std::span<const camera::Camera> cameras) {
  for (size_t i = 0; i < cameras.size(); ++i) {
    const auto& [pose, lens] = cameras[i];
    const bool finite = std::isfinite(camera::norm(pose.position)) &&
                        std::all_of(pose.rotation.m.begin(), pose.rotation.m.end(),
                                    [](double x) { return std::isfinite(x); }) &&
                        std::isfinite(lens.fov_x) && std::isfinite(lens.xi);
    if (!finite) fail("latent {}: its camera is not finite", frames_ + static_cast<int64_t>(i));
  }
  const std::vector<camera::Camera> all = projected_cameras(cameras);
  for (CachedTransformer* stream : streams()) stream->open_chunk(all);
}

std::vector<camera::Camera> Stream::projected_cameras(
    std::span<const camera::Camera> cameras) const {
  const int64_t each = model_->config().projection.cameras_per_latent;
  if (each == 1) return {cameras.begin(), cameras.end()};
  std::vector<camera::Camera> all;
  camera::Camera before = main_->next_frame() == 0 ? cameras.front() : before_chunk_;
  for (const camera::Camera& camera : cameras) {
    for (int64_t i = 1; i <= each; ++i) {
      const double t = static_cast<double>(i) / static_cast<double>(each);
      all.push_back({camera::interpolate(before.pose, camera.pose, t),
                     camera::interpolate(before.lens, camera.lens, t)});
    }
    before = camera;
  }
  return all;
}

std::vector<camera::Camera> Stream::with_waiting(std::span<const camera::Camera> cameras) const {
  std::vector<camera::Camera> all;
  if (waits()) all = pending_->cameras;
  all.insert(all.end(), cameras.begin(), cameras.end());
  return all;
}

at::Tensor Stream::noise(Purpose purpose, int64_t frames, int64_t step) const {
  // Keyed by purpose, frame and step, so that the stream has no generator state.
  const auto first = static_cast<uint64_t>(main_->next_frame());
  const auto number = static_cast<uint64_t>(purpose);
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(
      purpose == Purpose::kRenoise
          ? hash_keys({options_.seed, number, first, static_cast<uint64_t>(step)})
          : hash_keys({options_.seed, number, first}));
  return at::randn(
      {1, model_->config().channels, frames, options_.latent_height, options_.latent_width},
      generator, at::TensorOptions(at::kFloat));
}

at::Tensor Stream::velocity(const at::Tensor& x, const at::Tensor& timesteps,
                            const at::Tensor& target_timesteps) const {
  const at::Tensor wanted = main_->velocity(x, timesteps, {}, target_timesteps);
  if (negative_ == nullptr) return wanted;
  const at::Tensor unwanted = negative_->velocity(x, timesteps, {}, target_timesteps);
  return unwanted + options_.guidance * (wanted - unwanted);
}

at::Tensor Stream::decode(const at::Tensor& latents) {
  if (!decoder_) return {};
  // The decoder's state is updated in place, since a copy takes a gigabyte at 768x512. It is only
  // consistent between chunks.
  const DeferInterrupts whole;
  const at::Tensor pixels = decoder_->decode(latents);
  if (!all_finite(pixels)) {
    fail_check(
        "latents from {} on: the decoded frames have NaN or infinite values; check the "
        "autoencoder's weights",
        frames_);
  }
  return model::frames_from_pixels(pixels);
}

Chunk Stream::finish(at::Tensor latents, std::span<const camera::Camera> cameras,
                     memory::Origin origin) {
  Chunk chunk;
  chunk.first = frames_;
  chunk.visible = main_->visible();
  chunk.latents = latents;
  const auto begun = std::chrono::steady_clock::now();
  chunk.frames = decode(latents);
  chunk.decode_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  if (waits()) {
    pending_ = {at::cat({pending_->latents, latents}, 2), with_waiting(cameras), origin};
  } else {
    pending_ = {std::move(latents), {cameras.begin(), cameras.end()}, origin};
  }
  frames_ = chunk.first + static_cast<int64_t>(cameras.size());
  last_camera_ = cameras.back();
  return chunk;
}

Chunk Stream::add_chunk(const at::Tensor& latents, std::span<const camera::Camera> cameras,
                        memory::Origin origin) {
  const at::NoGradGuard no_grad;
  const std::vector<int64_t> shape = {1, model_->config().channels,
                                      static_cast<int64_t>(cameras.size()), options_.latent_height,
                                      options_.latent_width};
  if (latents.sizes() != at::IntArrayRef(shape)) {
    fail("latents are [{}]; expected [{}]", fmt::join(latents.sizes(), ", "),
         fmt::join(shape, ", "));
  }
  if (!all_finite(latents)) {
    fail("latents from {} on: the given latents are not finite; they were not added", frames_);
  }
  commit();
  open(with_waiting(cameras));
  return finish(latents.to(at::kFloat), cameras, origin);
}

Chunk Stream::accept_image(const at::Tensor& image, const camera::Camera& camera) {
  const at::NoGradGuard no_grad;
  LOCI_CHECK(vae_ != nullptr, "a stream without an autoencoder accepts latents, not pictures");
  if (frames_ > 0)
    fail("only the first frame can be a picture; this stream has {} latents already", frames_);
  return accept(model::VaeEncoder(*vae_, {.tiling = options_.tiling})
                    .encode(model::pixels_from_frames(image)),
                std::span(&camera, 1));
}

void Stream::accept_recording(const at::Tensor& latents, std::span<const camera::Camera> cameras,
                              const std::function<void()>& before_chunk) {
  const auto total = static_cast<int64_t>(cameras.size());
  if (latents.dim() != 5 || latents.size(2) != total) {
    fail("a recording of {} latents has {} cameras; expected one camera per latent",
         latents.dim() == 5 ? latents.size(2) : 0, total);
  }
  for (int64_t begin = 0; begin < total;) {
    check_interrupt();
    const int64_t size = std::min(frames_ == 0 ? 1 : next_size(), total - begin);
    if (before_chunk && frames_ > 0) before_chunk();
    accept(latents.narrow(2, begin, size), cameras.subspan(begin, size));
    begin += size;
  }
}

Chunk Stream::push(std::span<const camera::Camera> cameras) {
  const at::NoGradGuard no_grad;
  if (frames_ == 0) fail("the stream has no first frame; accept one before generating");
  if (static_cast<int64_t>(cameras.size()) != next_size()) {
    fail("a chunk of {} cameras; this model expects {}", cameras.size(), next_size());
  }
  commit();
  open(with_waiting(cameras));
  const std::unique_ptr<Solver> solver = make_solver(options_.solver);
  solver->set_noise([&](int64_t step) { return noise(Purpose::kRenoise, chunk_size(), step); });
  at::Tensor x =
      denoise(*solver, next_noise(), waits() ? pending_->latents : at::Tensor(),
              [&](const at::Tensor& latents, const at::Tensor& times, const at::Tensor& targets) {
                return velocity(latents, times, targets);
              });
  if (waits()) x = x.narrow(2, 1, x.size(2) - 1).contiguous();
  if (!all_finite(x)) {
    fail_check("latents from {} on: the generated latents are not finite; they were not added",
               frames_);
  }
  return finish(x.to(at::kFloat), cameras, memory::Origin::kGenerated);
}

void Stream::commit() {
  if (!pending_ || waits()) return;
  const at::NoGradGuard no_grad;
  const bool noised = main_->policy().bounded() && main_->next_frame() > 0;
  const double level = noised ? options_.commit_level : 0;
  const int64_t frames = pending_->latents.size(2);
  at::Tensor latents = pending_->latents;
  if (noised) latents = latents * (1 - level) + noise(Purpose::kCommit, frames) * level;
  const at::Tensor times = at::full({1, frames}, 1000 * level, at::kFloat);
  // Both or none: a stream whose two sets of states differ by a chunk could not continue.
  try {
    for (CachedTransformer* stream : streams()) stream->prepare_commit(latents, times);
  } catch (...) {
    for (CachedTransformer* stream : streams()) stream->cancel_commit();
    throw;
  }
  for (CachedTransformer* stream : streams()) stream->finish_commit(pending_->origin);
  before_chunk_ = pending_->cameras.back();
  pending_.reset();
}

void Stream::set_prompt(const Prompt& prompt) {
  commit();
  prompt_ = prompt;
  main_->set_text(text_keys(prompt_.embedding));
  if (negative_ != nullptr) negative_->set_text(text_keys(prompt_.negative_embedding));
}

void Stream::set_solver(const SolverOptions& solver) {
  make_solver(solver);
  options_.solver = solver;
}

void Stream::set_readout(model::Readout readout, uint64_t seed) {
  commit();
  readout_ = readout;
  readout_seed_ = seed;
  for (CachedTransformer* stream : streams()) stream->set_readout(readout, seed);
}

void Stream::reset_states() {
  commit();
  for (CachedTransformer* stream : streams()) stream->reset_states();
}

Stream Stream::fork() const {
  Stream copy(*model_, vae_, options_, prompt_);
  copy.main_ = main_->fork();
  if (negative_ != nullptr) copy.negative_ = negative_->fork();
  copy.readout_ = readout_;
  copy.readout_seed_ = readout_seed_;
  copy.decoder_ = decoder_;
  copy.frames_ = frames_;
  copy.last_camera_ = last_camera_;
  copy.before_chunk_ = before_chunk_;
  if (pending_) {
    copy.pending_ = pending_;
    copy.open(pending_->cameras);
  }
  return copy;
}

void Stream::adopt(Stream other) {
  LOCI_CHECK(model_ == other.model_ && frames_ == other.frames_,
             "a stream of {} latents cannot adopt one of {} latents or of another model", frames_,
             other.frames_);
  const model::VaeTiling tiling = options_.tiling;
  options_ = other.options_;
  options_.tiling = tiling;  // of the decoder, which stays
  prompt_ = std::move(other.prompt_);
  readout_ = other.readout_;
  readout_seed_ = other.readout_seed_;
  main_ = std::move(other.main_);
  negative_ = std::move(other.negative_);
  pending_ = std::move(other.pending_);
  before_chunk_ = other.before_chunk_;
}

void Stream::decode_after(const Stream& other, const model::Vae& vae) {
  LOCI_CHECK(frames_ == other.frames_ && other.decoder_,
             "a stream of {} latents cannot continue the frames of one of {}", frames_,
             other.frames_);
  vae_ = &vae;
  options_.tiling = other.options_.tiling;
  decoder_.emplace(vae, other.decoder_->cache(), options_.tiling);
}

int64_t Stream::history_bytes() const {
  int64_t bytes = 0;
  for (const CachedTransformer* stream : streams()) {
    bytes += stream->store().bytes();
    for (const at::Tensor& state : stream->states()) {
      if (state.defined()) bytes += static_cast<int64_t>(state.nbytes());
    }
  }
  return bytes;
}

}  // namespace loci::sample
