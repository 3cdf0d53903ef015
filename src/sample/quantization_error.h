// SPDX-License-Identifier: Apache-2.0
// Measures the error of a quantized model on the inputs of a real run.
#pragma once

#include <string>
#include <vector>

#include "loci/base/config.h"
#include "loci/sample/stream/stream.h"

namespace loci::sample {

// Errors are relative: |difference| / |output of the original|, with Euclidean norms.
struct QuantizationError {
  struct Layer {
    std::string name;  // "blocks.0.attn1.to_q"
    double error = 0;  // of the layer's outputs over all inputs of the run
  };
  std::vector<Layer> layers;     // in the model's order
  std::vector<double> velocity;  // of the model by generated chunk, over all noise levels

  struct Kind {
    std::string name;  // "attn1.to_q"
    size_t layers = 0;
    double mean = 0, worst = 0;
  };
  std::vector<Kind> kinds() const;
  // The `count` layers with the largest errors, in descending order.
  std::vector<Layer> worst(size_t count) const;
  Json to_json() const;
};

// The run: a first latent [1, C, 1, h, w], then whole chunks.
struct QuantizationRun {
  StreamOptions options;
  Prompt prompt;
  at::Tensor first;
  std::vector<camera::Camera> cameras;  // one for the first latent, then those of the chunks
};

// Generates with `original` and replays the same latents with `quantized`. Layers are compared on
// the inputs of the original's layers. Velocities are compared at the solver's noise levels of each
// chunk, each with the history that the model itself committed. Both models are unchanged
// afterwards.
QuantizationError measure_quantization(model::Transformer& original, model::Transformer& quantized,
                                       const QuantizationRun& run);

}  // namespace loci::sample
