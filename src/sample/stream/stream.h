// SPDX-License-Identifier: Apache-2.0
// Generates video chunk by chunk: takes a first frame or a recorded context, then cameras, and
// returns latents and frames. With a bounded history its memory does not grow.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/model/autoencoder/vae_stream.h"
#include "loci/model/transformer/transformer.h"
#include "loci/sample/stream/cached_transformer.h"
#include "loci/sample/stream/stream_options.h"

namespace loci::sample {

// Texts with their embeddings [l, text_dim]. Undefined embeddings are zeros.
struct Prompt {
  std::string text;
  at::Tensor embedding;
  std::string negative;
  at::Tensor negative_embedding;  // only used with guidance
};

// Identifies the models of a world file. Computing it reads all weights; ModelFolder::hashes()
// caches it.
struct ModelHashes {
  std::string transformer, autoencoder;  // the latter is empty without an autoencoder
  std::string decoder;                   // of Vae::tiny_decoder(); empty without one
};
ModelHashes hash_models(const model::Transformer& model, const model::Vae* vae);

struct Chunk {
  int64_t first = 0;             // index of its first latent frame in the stream
  at::Tensor latents;            // [1, C, F, h, w] FP32
  at::Tensor frames;             // uint8 [T, H, W, 3]; undefined without an autoencoder
  std::vector<int64_t> visible;  // earlier latent frames that the chunk attended to
  double decode_seconds = 0;     // time that decoding the frames took
};

// Cameras have camera-to-world poses, one per latent frame. The stream converts them to be relative
// to its first camera. All values of a chunk are a function of the seed, its index and the chunks
// before it, whether these were generated, replayed or loaded.
class Stream {
 public:
  // The model and the autoencoder (may be null) must outlive the stream.
  Stream(const model::Transformer& model, const model::Vae* vae, const StreamOptions& options,
         const Prompt& prompt);

  // Adds a recorded chunk with latents [1, C, F, h, w]: the first frame (F = 1) or F <=
  // chunk_size() later frames.
  Chunk accept(const at::Tensor& latents, std::span<const camera::Camera> cameras) {
    return add_chunk(latents, cameras, memory::Origin::kRecorded);
  }
  // Adds a chunk that push() generated in an earlier run.
  Chunk replay(const at::Tensor& latents, std::span<const camera::Camera> cameras) {
    return add_chunk(latents, cameras, memory::Origin::kGenerated);
  }
  // Encodes and adds the first frame, uint8 [H, W, 3] of the stream's size. Needs an autoencoder.
  Chunk accept_image(const at::Tensor& image, const camera::Camera& camera);
  // Adds recorded latents of any length chunk by chunk. Calls `before_chunk` before every chunk
  // except the first frame.
  void accept_recording(const at::Tensor& latents, std::span<const camera::Camera> cameras,
                        const std::function<void()>& before_chunk = {});
  // Generates the next chunk for next_size() cameras. After an interrupt or error the stream is
  // unchanged, except for errors while decoding: the decoder's state has then advanced, and the
  // stream must be loaded or replayed.
  Chunk push(std::span<const camera::Camera> cameras);

  // Runs the commit pass of the newest chunk, which writes states and history. The next chunk and
  // all functions below call it when they need it, so the last chunk of a stream is not committed.
  void commit();

  // Change the prompt or solver from the next chunk on.
  void set_prompt(const Prompt& prompt);
  void set_solver(const SolverOptions& solver);
  // Change the readout of the recurrent state, or set the state to zero.
  void set_readout(model::Readout readout, uint64_t seed = 0);
  void reset_states();

  // An independent copy with the same past.
  Stream fork() const;

  // Takes over the memory of `other`, a stream of the same model with the same latents and other
  // options. The decoder's state stays. Both must have the same length.
  void adopt(Stream other);
  // Decodes frames from now on with `vae`, starting with the decoder's state of `other`, a stream
  // of the same latents whose autoencoder has the same weights.
  void decode_after(const Stream& other, const model::Vae& vae);

  // Writes a world file with the complete state, atomically. A loaded stream continues bit for bit.
  // Loading with another model or autoencoder is bad input. A stream that is loaded without an
  // autoencoder makes latents only.
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
  // Number of latents of the next chunk, after the first frame.
  int64_t next_size() const { return chunk_size() - (waits() ? 1 : 0); }
  camera::TimeGrid time_grid(int64_t frames_per_latent = 4) const {
    return model_->config().time_grid(frames_per_latent);
  }
  // Number of latent frames.
  int64_t frames() const { return frames_; }
  // Of the newest latent frame.
  const camera::Camera& last_camera() const { return last_camera_; }
  // The model with the prompt, and with guidance that with the negative prompt (otherwise null).
  const CachedTransformer& main() const { return *main_; }
  const CachedTransformer* negative() const { return negative_.get(); }
  // The noise that push() starts from, after commit(). With a waiting first frame it includes noise
  // for that frame, which push() ignores.
  at::Tensor next_noise() const { return noise(Purpose::kSample, chunk_size()); }
  // Bytes of all states, keys and values.
  int64_t history_bytes() const;

 private:
  struct Pending {
    at::Tensor latents;
    std::vector<camera::Camera> cameras;
    memory::Origin origin;
  };
  enum class Purpose : uint64_t { kSample, kCommit, kRenoise };

  std::vector<CachedTransformer*> streams() const;
  std::unique_ptr<CachedTransformer> make_stream(const at::Tensor& embedding) const;
  model::TextKeys text_keys(const at::Tensor& embedding) const;
  void open(std::span<const camera::Camera> cameras);
  // Whether the first frame waits for the latents that the model generates together with it. It is
  // then pending and not committed.
  bool waits() const {
    return pending_ && model_->config().given_in_chunk && main_->next_frame() == 0 &&
           pending_->latents.size(2) == 1;
  }
  // The cameras of the next chunk, with that of a waiting first frame.
  std::vector<camera::Camera> with_waiting(std::span<const camera::Camera> cameras) const;
  // One camera per latent → as many as the model's projections need, interpolated from the camera
  // before. The first latent of the stream has one camera, repeated.
  std::vector<camera::Camera> projected_cameras(std::span<const camera::Camera> cameras) const;
  at::Tensor noise(Purpose purpose, int64_t frames, int64_t step = 0) const;
  at::Tensor velocity(const at::Tensor& x, const at::Tensor& timesteps,
                      const at::Tensor& target_timesteps) const;
  Chunk add_chunk(const at::Tensor& latents, std::span<const camera::Camera> cameras,
                  memory::Origin origin);
  Chunk finish(at::Tensor latents, std::span<const camera::Camera> cameras, memory::Origin origin);
  at::Tensor decode(const at::Tensor& latents);

  const model::Transformer* model_;
  const model::Vae* vae_;
  StreamOptions options_;
  Prompt prompt_;
  model::Readout readout_ = model::Readout::kOn;
  uint64_t readout_seed_ = 0;
  std::unique_ptr<CachedTransformer> main_, negative_;
  std::optional<model::VaeDecoder> decoder_;
  std::optional<Pending> pending_;  // the newest chunk, not committed yet
  int64_t frames_ = 0;
  camera::Camera last_camera_;
  camera::Camera before_chunk_;  // of the newest committed latent
};

// The metadata of a world file.
struct WorldInfo {
  StreamOptions options;
  std::string prompt, negative;
  int64_t frames = 0;  // latent
};
WorldInfo read_world(const std::filesystem::path& file);

}  // namespace loci::sample
