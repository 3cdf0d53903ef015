// SPDX-License-Identifier: Apache-2.0
// LPIPS 0.1: perceptual distance of two pictures from the weighted features of a classifier.
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
  // Returns the weight with the given name: features.N.weight and .bias as in torchvision's
  // classifiers, linN.model.1.weight as in LPIPS.
  using FindWeight = std::function<at::Tensor(const std::string& name)>;
  // Missing weights and wrong shapes are bad input; the error names `source`.
  Lpips(LpipsNet net, const FindWeight& find, const std::string& source);

  // Loads lpips_alex.safetensors or lpips_vgg.safetensors (created by scripts/fetch_lpips.py).
  static Lpips load(LpipsNet net, const std::filesystem::path& file);

  // One distance per frame; frames as in image_metrics.h.
  std::vector<double> distance(const at::Tensor& a, const at::Tensor& b) const;
  // Distances before the mean over pixels, [T, H, W]; the map of each layer is upsampled bilinearly
  // to the frame size.
  at::Tensor distance_map(const at::Tensor& a, const at::Tensor& b) const;

 private:
  struct Conv {
    at::Tensor weight, bias;
    int64_t stride, padding, pool;  // pool: size of the max pooling before it (stride 2), 0: none
    bool tap;                       // whether the output is compared
  };
  std::vector<at::Tensor> features(const at::Tensor& frames) const;
  // Per layer, [T, 1, h, w].
  std::vector<at::Tensor> layer_maps(const at::Tensor& a, const at::Tensor& b) const;

  std::vector<Conv> convs_;
  std::vector<at::Tensor> heads_;  // [1, C, 1, 1]
};

}  // namespace loci::eval
