// SPDX-License-Identifier: Apache-2.0
// A small decoder for the latents of another autoencoder: TAEHV's convolutional decoders, such as
// taew2_2 for Wan2.2 and its larger variant taew2_2_super.
//
// The network has three levels of three blocks. A block sees its frame and the previous frame of
// its level (zeros before the first frame). A level doubles the resolution, and the second and the
// third level double the number of frames. The last convolution makes patches of pixels.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/model/autoencoder/vae_cache.h"
#include "loci/model/autoencoder/vae_config.h"
#include "loci/model/weights/parameters.h"

namespace loci::model {

class TinyDecoder {
 public:
  // Reads a .safetensors or .pth file with the original names. The sizes follow from the shapes of
  // its tensors. Tensors of the encoder are ignored; other missing, unexpected and wrongly shaped
  // tensors are bad input.
  static TinyDecoder load(const std::filesystem::path& path, at::ScalarType dtype = at::kFloat);

  // The next latents of a clip, [B, z, T, h, w] in model space. Returns FP32 frames [B, 3, T', H,
  // W], clamped to [-1, 1]: one for the first latent of the clip, 4 for every other latent. Not
  // differentiable. Within the network, frames with more than `large_frame` numbers pass one at a
  // time, which bounds the memory.
  at::Tensor decode(const at::Tensor& latents, VaeCache& cache,
                    int64_t large_frame = kLargeFrame) const;

  // Bad input unless the decoder is for latents of this autoencoder.
  void check(const VaeConfig& config) const;

  int64_t z_dim() const { return sizes_.z_dim; }
  int64_t spatial_factor() const { return 8 * sizes_.patch; }
  int64_t temporal_factor() const;
  // Count of numbers in the state between calls, for latents of this size.
  uint64_t state_size(int64_t height, int64_t width) const;
  const Parameters& parameters() const { return *parameters_; }

 private:
  static constexpr size_t kLevels = 3;
  static constexpr int64_t kLargeFrame = 4 << 20;

  struct Sizes {
    bool wide = false;  // the larger variant
    int64_t z_dim = 0, patch = 0;
    std::array<int64_t, kLevels + 1> channels = {};  // of the levels, and before the last layer
  };

  // A convolution over the pixels of each frame that keeps the size.
  struct Conv {
    at::Tensor weight;  // [out, in / groups, k, k]
    at::Tensor bias;    // [out], or undefined

    Conv() = default;
    Conv(const Scope& scope, int64_t out, int64_t in, int64_t kernel, bool with_bias,
         int64_t groups = 1);
    at::Tensor operator()(const at::Tensor& x) const;  // [T, B, H, W, in] → [T, B, H, W, out]
  };

  struct Block {
    std::string name;  // key in the cache
    bool wide = false;
    Conv first, second, third;

    Block(const Scope& scope, int64_t channels, bool wide);
    // `started`: earlier frames of the clip have passed.
    at::Tensor operator()(const at::Tensor& x, bool started, VaeCache& cache) const;
  };

  struct Level {
    std::vector<Block> blocks;
    Conv change;         // to the channels of the next level
    Conv grow;           // 1x1, to `frames` frames
    int64_t frames = 1;  // that become of one frame
  };

  TinyDecoder(const Sizes& sizes, std::unique_ptr<Parameters> parameters);
  // Runs the levels from `level` on and the last layer.
  at::Tensor finish(at::Tensor x, size_t level, bool started, VaeCache& cache,
                    int64_t large_frame) const;

  std::string source_;  // the file, for messages
  Sizes sizes_;
  std::unique_ptr<Parameters> parameters_;
  Conv in_, out_;
  std::vector<Level> levels_;
};

}  // namespace loci::model
