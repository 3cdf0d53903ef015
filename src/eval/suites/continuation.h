// SPDX-License-Identifier: Apache-2.0
// Lets a model continue a recording. What does not depend on the arm is done once: the context's
// latents (kept in a file, for other models with the same autoencoder too) and the autoencoder's
// state at its end.
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
  double seconds = 0;  // for all chunks, without the context
  int64_t chunks = 0;
  int64_t history_bytes = 0;  // at the end
  double visible = 0;         // frames that a chunk attended to, on average
};

class Continuation {
 public:
  // All must outlive this.
  Continuation(const sample::ModelFolder& folder, const EvalClips& clips, size_t clip,
               const Sampling& sampling);

  // Frames uint8 [chunk, H, W, 3] as they come; `first` counts from the start of the recording.
  using TakeFrames = std::function<void(int64_t first, const at::Tensor& frames)>;
  ContinuationCost run(const Arm& arm, const TakeFrames& take) const;

  // The context as latents [1, z, n, h, w].
  const at::Tensor& context() const { return context_; }

 private:
  const sample::ModelFolder* folder_;
  const EvalClips* clips_;
  const Sampling* sampling_;
  std::vector<camera::Camera> cameras_;
  sample::Prompt prompt_;
  at::Tensor context_;
  std::unique_ptr<model::VaeDecoder> decoder_;  // as it stands after the context
};

// Latents of the first `frames` frames (1 + whole latents), from `cache` if they are there: a
// folder that models, suites and processes may share.
at::Tensor encoded_frames(const model::Vae& vae, const EvalClips& clips, size_t clip,
                          int64_t frames, const std::filesystem::path& cache);

}  // namespace loci::eval
