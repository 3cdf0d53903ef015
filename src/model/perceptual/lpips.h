// SPDX-License-Identifier: Apache-2.0
// LPIPS 0.1: perceptual distance of two pictures from the weighted features of a classifier, as a
// metric and as a differentiable loss.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::model {

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
  // The same for either file; its tensors tell which network it contains.
  static Lpips load(const std::filesystem::path& file);

  LpipsNet net() const { return net_; }
  // "alex" or "vgg"
  const char* name() const { return net_ == LpipsNet::kAlex ? "alex" : "vgg"; }

  // One distance per frame. Frames are uint8, or floating point in [0, 1], [T, H, W, 3].
  std::vector<double> distance(const at::Tensor& a, const at::Tensor& b) const;
  // Distances before the mean over pixels, [T, H, W]; the map of each layer is upsampled bilinearly
  // to the frame size.
  at::Tensor distance_map(const at::Tensor& a, const at::Tensor& b) const;

  // Mean distance of pictures from targets, both [N, 3, H, W] in [-1, 1], FP32, in one batch.
  // Differentiable with respect to `pictures` only: the weights are constants, and no gradient
  // flows to `targets`.
  at::Tensor loss(const at::Tensor& pictures, const at::Tensor& targets) const;

  // The compared outputs of the classifier, [N, C, h, w] per layer, for pictures [N, 3, H, W] in
  // [-1, 1]. Differentiable.
  std::vector<at::Tensor> features(const at::Tensor& pictures) const;

  // Smallest side of a picture for which every layer has at least one pixel.
  static constexpr int64_t kMinSide = 35;

 private:
  struct Conv {
    at::Tensor weight, bias;
    int64_t stride, padding, pool;  // pool: size of the max pooling before it (stride 2), 0: none
    bool tap;                       // whether the output is compared
  };
  // Per layer, [T, 1, h, w].
  std::vector<at::Tensor> layer_maps(const at::Tensor& a, const at::Tensor& b) const;

  LpipsNet net_;
  std::vector<Conv> convs_;
  std::vector<at::Tensor> heads_;  // [1, C, 1, 1]
};

}  // namespace loci::model
