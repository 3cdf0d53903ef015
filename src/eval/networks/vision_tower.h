// SPDX-License-Identifier: Apache-2.0
// Image features of DINOv2 and CLIP's image encoder, from published weights.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::eval {

enum class TowerKind { kDino, kClip };

class VisionTower {
 public:
  // Weights by name, as published by the original projects or by Hugging Face. Sizes follow from
  // the tensors. Missing weights and wrong shapes are bad input; the error names `source`.
  VisionTower(TowerKind kind, const std::map<std::string, at::Tensor>& weights,
              const std::string& source);
  static VisionTower load(TowerKind kind, const std::filesystem::path& path);

  struct Features {
    at::Tensor global;   // [T, D], unit length: class token of DINOv2, projection of CLIP
    at::Tensor patches;  // [T, rows, columns, D], unit length; DINOv2 only
  };
  // Frames as in image_metrics.h, resized (bicubic, antialiased) to the input of the network: a
  // square for CLIP; 37x21 patches of 14 pixels for DINOv2, about 16:9, whatever the frame's shape.
  Features operator()(const at::Tensor& frames) const;

  // `pixels` are normalised, [T, 3, H, W] with sides divisible by the patch size. Returns the
  // tokens after the last norm, [T, 1 + patches, D], without registers.
  at::Tensor tokens(const at::Tensor& pixels) const;
  // CLIP only: projection of the class token, [T, D].
  at::Tensor project(const at::Tensor& tokens) const;
  int64_t patch() const { return patch_weight_.size(2); }

 private:
  struct Norm {
    at::Tensor weight, bias;
  };
  struct Linear {
    at::Tensor weight, bias;
  };
  struct Block {
    Norm norm1, norm2;
    Linear qkv, out, fc1, fc2;
    at::Tensor scale1, scale2;  // layer scale; undefined if the model has none
  };
  at::Tensor norm(const at::Tensor& x, const Norm& norm) const;
  at::Tensor run_block(const Block& block, const at::Tensor& x) const;
  at::Tensor positions(int64_t rows, int64_t columns) const;

  TowerKind kind_;
  at::Tensor patch_weight_, patch_bias_;
  at::Tensor class_token_, positions_;  // [D], [1 + n, D]
  at::Tensor registers_;                // [r, D] or undefined
  Norm before_, after_;
  std::vector<Block> blocks_;
  at::Tensor projection_;  // [D, D'] or undefined
};

// Local errors of patch features [T, r, c, D]: [T, r, c]. The error of a patch of `a` is 1 - its
// largest cosine with the patches of `b` at most one patch away.
at::Tensor patch_errors(const at::Tensor& a, const at::Tensor& b);
// The indices of the worst `share` of the patches (at least one) of every frame: [T, n].
at::Tensor worst_region(const at::Tensor& errors, double share);
// Mean error over the region of every frame.
std::vector<double> mean_error(const at::Tensor& errors, const at::Tensor& region);

}  // namespace loci::eval
