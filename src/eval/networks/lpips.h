// SPDX-License-Identifier: Apache-2.0
// LPIPS 0.1: the distance of two pictures by the features of a classifier, weighted as people
// judged it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::eval {

enum class LpipsNet { kAlex, kVgg };

class Lpips {
 public:
  // Gives the weight of that name: features.N.weight and .bias as in torchvision's classifiers,
  // linN.model.1.weight as in LPIPS.
  using FindWeight = std::function<at::Tensor(const std::string& name)>;
  // Missing weights and wrong shapes are bad input naming `source`.
  Lpips(LpipsNet net, const FindWeight& find, const std::string& source);

  // From lpips_alex.safetensors or lpips_vgg.safetensors, which scripts/fetch_lpips.py makes.
  static Lpips load(LpipsNet net, const std::filesystem::path& file);

  // One distance a frame; frames as in image_metrics.h.
  std::vector<double> distance(const at::Tensor& a, const at::Tensor& b) const;
  // The same before the mean over pixels: [T, H, W], each layer's map enlarged (bilinear) to the
  // frames' size.
  at::Tensor distance_map(const at::Tensor& a, const at::Tensor& b) const;

 private:
  struct Conv {
    at::Tensor weight, bias;
    int64_t stride, padding, pool;  // size of the pooling before it (stride 2), 0 for none
    bool tap;                       // whether its output is compared
  };
  std::vector<at::Tensor> features(const at::Tensor& frames) const;
  // Per layer, [T, 1, h, w].
  std::vector<at::Tensor> layer_maps(const at::Tensor& a, const at::Tensor& b) const;

  std::vector<Conv> convs_;
  std::vector<at::Tensor> heads_;  // [1, C, 1, 1]
};

}  // namespace loci::eval
