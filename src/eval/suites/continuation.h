// SPDX-License-Identifier: Apache-2.0
// Continues a recording with a model. Work that does not depend on the arm is done once: encoding
// the context (cached in a file that models with the same autoencoder share) and bringing the
// decoder to its state at the end of the context.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "loci/eval/suites/eval_clips.h"
#include "loci/eval/suites/eval_models.h"
#include "loci/model/autoencoder/vae_stream.h"
#include "loci/sample/stream/stream.h"

namespace loci::eval {

struct ContinuationCost {
  double seconds = 0;  // wall time of all generated chunks, decoding included
  int64_t chunks = 0;
  int64_t history_bytes = 0;  // at the end of the continuation
  double visible = 0;         // mean number of retained frames that a chunk attended to
};

class Continuation {
 public:
  // All references must outlive this object.
  Continuation(const sample::ModelFolder& folder, const EvalClips& clips, size_t clip,
               const Sampling& sampling);

  // Receives the frames of each chunk, uint8 [frames, H, W, 3]. `first` is the index of the first
  // one, counted from the start of the recording.
  using FrameSink = std::function<void(int64_t first, const at::Tensor& frames)>;
  ContinuationCost run(const Arm& arm, const FrameSink& take) const;

  // Encodes and decodes the recorded frames after the context, without the transformer: the upper
  // limit of what the model can generate.
  void reconstruct(const FrameSink& take) const;

  // Latents of the context, [1, z, n, h, w].
  const at::Tensor& context() const { return context_; }

 private:
  const sample::ModelFolder* folder_;
  const EvalClips* clips_;
  size_t clip_;
  const Sampling* sampling_;
  std::vector<camera::Camera> cameras_;
  sample::Prompt prompt_;
  at::Tensor context_;
  std::unique_ptr<model::VaeDecoder> decoder_;  // state at the end of the context
};

// Latents of the first `frames` frames (one, plus a multiple of the frames per latent). They are
// read from the folder `cache` or added to it. Models, suites and processes may share the folder.
at::Tensor encoded_frames(const model::Vae& vae, const EvalClips& clips, size_t clip,
                          int64_t frames, const std::filesystem::path& cache);

}  // namespace loci::eval
