// SPDX-License-Identifier: Apache-2.0
// A network that scores patches of pictures: do they come from a recording or from the decoder?
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/io/tensors/safetensors.h"
#include "loci/model/weights/parameters.h"
#include "loci/train/losses/adversarial_loss.h"

namespace loci::train {

// Convolutions 4x4 of stride 2 with leaky ReLU, each with twice the channels of the one before,
// then two convolutions 3x3. With three layers, a score depends on 54x54 pixels. Spectral
// normalisation divides every weight by its largest singular value as a matrix [out, in * k * k],
// which bounds the slope of the network without any statistics of a batch.
class Discriminator {
 public:
  Discriminator(const AdversarialConfig& config, uint64_t seed);

  // Scores [N, 1, h, w], FP32, of pictures [N, 3 * stack, H, W] in [-1, 1]. Computed in type
  // `compute`.
  at::Tensor operator()(const at::Tensor& pictures, at::ScalarType compute = at::kFloat) const;

  // One step of the power iteration for the singular values. Call it once per update.
  void iterate();

  const std::vector<model::Parameter>& parameters() const { return parameters_.all(); }
  // Parameters and vectors of the power iteration.
  io::NamedTensors state() const;
  // `source` names the origin of the state in messages.
  void load_state(const io::SafetensorsFile& state, const std::string& source);

 private:
  struct Layer {
    at::Tensor weight, bias;
    at::Tensor left, right;  // singular vectors of the largest singular value
    int64_t stride;
  };
  static at::Tensor normalised(const Layer& layer);
  void set_right(Layer& layer) const;

  model::Parameters parameters_;
  std::vector<Layer> layers_;
};

}  // namespace loci::train
