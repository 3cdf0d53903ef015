// SPDX-License-Identifier: Apache-2.0
// Vision transformers that tell what a picture shows: DINOv2 and the picture side of CLIP, from
// their published weights.
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
  // Of DINOv2 the original's .pth or the safetensors of Hugging Face, of CLIP the latter or the
  // original's tensors by name; sizes follow from the tensors. Weights that are missing or of a
  // wrong shape are bad input naming `source`.
  VisionTower(TowerKind kind, const std::map<std::string, at::Tensor>& weights,
              const std::string& source);
  static VisionTower load(TowerKind kind, const std::filesystem::path& path);

  struct Features {
    at::Tensor global;   // [T, D], of length one: DINOv2's class token, CLIP's projection
    at::Tensor patches;  // [T, rows, columns, D], of length one each; DINOv2 only
  };
  // Frames as in image_metrics.h, resized (bicubic, antialiased) to what the network takes: CLIP
  // its square, DINOv2 37 patches of 14 pixels across and rows by aspect, 21 at 16:9.
  Features operator()(const at::Tensor& frames) const;

  // Pixels as the network takes them, normalised, [T, 3, H, W] with sides divisible by the patch:
  // tokens after the last norm [T, 1 + patches, D]; registers are left out.
  at::Tensor tokens(const at::Tensor& pixels) const;
  // CLIP: the projection of the class token [T, D].
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
    at::Tensor scale1, scale2;  // undefined where branches are not scaled
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

// Worst patches: 1 - the largest cosine between a patch of `a` and those of `b` at most one patch
// away; gives the mean of the worst `share` of patches (at least one) of each frame. [T, r, c, D].
std::vector<double> worst_patches(const at::Tensor& a, const at::Tensor& b, double share);

}  // namespace loci::eval
