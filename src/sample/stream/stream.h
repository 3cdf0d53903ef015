// SPDX-License-Identifier: Apache-2.0
// The generator that users drive, chunk by chunk: a first frame or a recorded past, then poses in,
// latents and frames out, in memory that a bounded history does not let grow.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/model/autoencoder/vae_stream.h"
#include "loci/model/transformer/transformer.h"
#include "loci/sample/stream/model_stream.h"
#include "loci/sample/stream/stream_options.h"

namespace loci::sample {

// Texts with their embeddings [l, text_dim]; undefined embeddings count as zeros.
struct Prompt {
  std::string text;
  at::Tensor embedding;
  std::string negative;
  at::Tensor negative_embedding;  // only used with guidance
};

// Tells the models of world files apart. It takes a look at every weight: whoever saves often does
// that once (see ModelFolder::hashes()).
struct ModelHashes {
  std::string transformer, autoencoder;  // the second empty without one
};
ModelHashes hash_models(const model::Transformer& model, const model::Vae* vae);

struct Chunk {
  int64_t first = 0;             // latent frame since the start of the stream
  at::Tensor latents;            // [1, C, F, h, w] FP32
  at::Tensor frames;             // uint8 [T, H, W, 3]; undefined without an autoencoder
  std::vector<int64_t> visible;  // earlier latent frames that the chunk attended to
};

// Poses are of the world, camera to world, one per latent frame; the stream makes them relative to
// its first. All numbers of a chunk follow from the seed, its place and what came before, however
// the past was brought in: generated here, replayed, or loaded.
class Stream {
 public:
  // Model and autoencoder (may be null) must outlive the stream.
  Stream(const model::Transformer& model, const model::Vae* vae, const StreamOptions& options,
         const Prompt& prompt);

  // A chunk whose latents [1, C, F, h, w] are shown to the model: the first frame (F = 1) or
  // recorded ones. F is at most the model's chunk size.
  Chunk accept(const at::Tensor& latents, std::span<const camera::Camera> cameras) {
    return bring_in(latents, cameras, memory::Origin::kGiven);
  }
  // A chunk that push() made in an earlier run.
  Chunk replay(const at::Tensor& latents, std::span<const camera::Camera> cameras) {
    return bring_in(latents, cameras, memory::Origin::kMade);
  }
  // The first frame from a picture, uint8 [H, W, 3] of the stream's size; needs an autoencoder.
  Chunk accept_image(const at::Tensor& image, const camera::Camera& camera);
  // A recorded past of any length, chunk by chunk; its frames are decoded only to go on from there.
  void accept_recording(const at::Tensor& latents, std::span<const camera::Camera> cameras);
  // Generates the next chunk along as many cameras as the model's chunk size. An interrupt or error
  // leaves the stream as it was before, but for one of the autoencoder, whose state has then seen
  // the chunk: load or replay the stream to go on.
  Chunk push(std::span<const camera::Camera> cameras);

  // Writes the newest chunk to states and history. The next chunk does so itself, and so does
  // everything below that needs it: a stream that ends does without.
  void settle();

  // From the next chunk on.
  void set_prompt(const Prompt& prompt);
  void set_solver(const SolverOptions& solver);
  // Switches of the recurrent memory: what is read of it, and forgetting all of it.
  void set_readout(model::Readout readout, uint64_t seed = 0);
  void reset_states();

  // An independent stream with the same past.
  Stream fork() const;

  // Goes on with the memory of `other`, a stream of the same model that went the same way under
  // other options; frames go on from those of this one. Streams of different length are a
  // programmer's error.
  void adopt(Stream other);
  // Makes frames from now on with `vae`, going on from those of `other`, a stream of the same
  // latents whose autoencoder has the same weights.
  void show_like(const Stream& other, const model::Vae& vae);

  // A world: everything needed to go on bit by bit as this stream would, in one file that appears
  // whole. Loading it with another model or autoencoder is bad input; without an autoencoder no
  // frames are made.
  void save(const std::filesystem::path& file) { save(file, hash_models(*model_, vae_)); }
  void save(const std::filesystem::path& file, const ModelHashes& hashes);
  static Stream load(const std::filesystem::path& file, const model::Transformer& model,
                     const model::Vae* vae) {
    return load(file, model, vae, hash_models(model, vae));
  }
  static Stream load(const std::filesystem::path& file, const model::Transformer& model,
                     const model::Vae* vae, const ModelHashes& hashes);

  const StreamOptions& options() const { return options_; }
  const Prompt& prompt() const { return prompt_; }
  model::Readout readout() const { return readout_; }
  int64_t chunk_size() const { return model_->config().chunk_size; }
  // Latent frames so far.
  int64_t frames() const { return frames_; }
  // Of the newest latent frame.
  const camera::Camera& last_camera() const { return last_camera_; }
  // With guidance the second one follows the negative prompt, else it is null.
  const ModelStream& main() const { return *main_; }
  const ModelStream* negative() const { return negative_.get(); }
  // The noise that push() starts from, once the newest chunk is settled.
  at::Tensor next_noise() const { return noise(Purpose::kSample, chunk_size()); }
  // Bytes of states and stores.
  int64_t history_bytes() const;

 private:
  struct Pending {
    at::Tensor latents;
    std::vector<camera::Camera> cameras;
    memory::Origin origin;
  };
  enum class Purpose : uint64_t { kSample, kCommit };

  std::vector<ModelStream*> streams() const;
  std::unique_ptr<ModelStream> make_stream(const at::Tensor& embedding) const;
  model::TextKeys text_keys(const at::Tensor& embedding) const;
  void open(std::span<const camera::Camera> cameras);
  at::Tensor noise(Purpose purpose, int64_t frames) const;
  at::Tensor velocity(const at::Tensor& x, double timestep) const;
  Chunk bring_in(const at::Tensor& latents, std::span<const camera::Camera> cameras,
                 memory::Origin origin);
  Chunk finish(at::Tensor latents, std::span<const camera::Camera> cameras, memory::Origin origin);
  at::Tensor decode(const at::Tensor& latents);

  const model::Transformer* model_;
  const model::Vae* vae_;
  StreamOptions options_;
  Prompt prompt_;
  model::Readout readout_ = model::Readout::kOn;
  uint64_t readout_seed_ = 0;
  std::unique_ptr<ModelStream> main_, negative_;
  std::optional<model::VaeDecoder> decoder_;
  std::optional<Pending> pending_;  // the newest chunk, open in the streams
  int64_t frames_ = 0;
  camera::Camera last_camera_;
};

// What a world says about itself, without its tensors.
struct WorldInfo {
  StreamOptions options;
  std::string prompt, negative;
  int64_t frames = 0;  // latent
};
WorldInfo read_world(const std::filesystem::path& file);

}  // namespace loci::sample
