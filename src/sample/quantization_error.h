// SPDX-License-Identifier: Apache-2.0
// How far a model with quantized weights is from the one it was made of, on what layers really see.
#pragma once

#include <string>
#include <vector>

#include "loci/base/config.h"
#include "loci/sample/stream/stream.h"

namespace loci::sample {

// Errors are relative: |difference| / |what it should be|, as lengths of vectors.
struct QuantizationError {
  struct Layer {
    std::string name;  // "blocks.0.attn1.to_q"
    double error = 0;  // of the outputs, all inputs of the run together
  };
  std::vector<Layer> layers;     // in the model's order
  std::vector<double> velocity;  // of the whole model, by generated chunk, over noise levels

  struct Kind {
    std::string name;  // "attn1.to_q"
    size_t layers = 0;
    double mean = 0, worst = 0;
  };
  std::vector<Kind> kinds() const;
  // The largest first.
  std::vector<Layer> worst(size_t count) const;
  Json to_json() const;
};

// Where the run begins and goes: a first latent [1, C, 1, h, w], then whole chunks of poses.
struct QuantizationRun {
  StreamOptions options;
  Prompt prompt;
  at::Tensor first;
  std::vector<camera::Camera> cameras;  // one for the first latent, then those of the chunks
};

// Generates with `original`; `quantized` follows the same latents. Layers are compared on the
// inputs that they have in the original, velocities at the solver's noise levels of each chunk,
// each with the past that the model itself committed. Both models compute as before afterwards.
QuantizationError measure_quantization(model::Transformer& original, model::Transformer& quantized,
                                       const QuantizationRun& run);

}  // namespace loci::sample
