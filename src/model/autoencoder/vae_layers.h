// SPDX-License-Identifier: Apache-2.0
// Layers of the Wan2.2 video autoencoder.
//
// Activations are [T, B, H, W, C], contiguous. Time is first, so that a shift in time is a slice.
// Channels are last, which is the fast layout for norms and convolutions on a CPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/model/autoencoder/vae_cache.h"
#include "loci/model/autoencoder/vae_tiles.h"
#include "loci/model/weights/parameters.h"

namespace loci::model {

// The state and the tiles of a pass through the layers.
struct VaePass {
  // State between calls. Null if the whole clip passes in one call.
  VaeCache* cache = nullptr;
  VaeTiling tiling = {};
  std::string tile = {};  // prefix of names in the cache; set by the networks

  // Whether these frames begin the clip.
  bool first() const { return cache == nullptr || cache->latents() == 0; }

  // Whether frames x [T, B, H, W, …] should pass a layer with this many channels one at a time.
  // For large frames the overhead of a call is negligible, and only the activations of one frame
  // are in memory.
  bool singly(const at::Tensor& x, int64_t channels) const {
    constexpr int64_t kLargeFrame = 4 << 20;  // numbers
    return cache != nullptr && !first() && x.size(0) > 1 &&
           x.size(1) * x.size(2) * x.size(3) * channels > kLargeFrame;
  }
};

// Scales every pixel's channel vector to length sqrt(C), times gamma [C].
struct ChannelNorm {
  at::Tensor gamma;

  ChannelNorm() = default;
  // Stored as [C, 1, 1, 1], or [C, 1, 1] for `image`.
  ChannelNorm(const Scope& scope, int64_t channels, bool image = false);
  at::Tensor operator()(const at::Tensor& x) const;
  // The norm followed by SiLU; may reuse the memory of x as norm_silu() does.
  at::Tensor silu(at::Tensor x) const;
};

// A convolution over pixels, 1x1 or 3x3, stride 1, that keeps the size.
struct PixelConv {
  at::Tensor weight;  // [out, in, k, k], in memory [out, k, k, in]
  at::Tensor bias;    // [out]

  PixelConv() = default;
  PixelConv(const Scope& scope, int64_t in, int64_t out, int64_t kernel);
  // A 1x1 convolution that starts at zero.
  static PixelConv zero(const Scope& scope, int64_t in, int64_t out);
  at::Tensor operator()(const at::Tensor& x) const;
};

// A linear map of every pixel's channels.
struct PointConv {
  at::Tensor weight;  // [out, in, 1, 1, 1]
  at::Tensor bias;    // [out]

  PointConv() = default;
  PointConv(const Scope& scope, int64_t in, int64_t out,
            const Initialiser& bias_start = init::zeros);
  at::Tensor operator()(const at::Tensor& x) const;
};

// A convolution over space, 1x1 or 3x3, and over the current and the two previous frames.
struct CausalConv {
  at::Tensor
      weight;        // [out, in, 3, k, k], in memory [3, out, k, k, in]: taps in time, oldest first
  at::Tensor bias;   // [out]
  std::string name;  // key in the cache

  CausalConv() = default;
  CausalConv(const Scope& scope, int64_t in, int64_t out, int64_t kernel);
  CausalConv(const Scope& scope, int64_t in, int64_t out, int64_t kernel,
             const Initialiser& weight_start);

  // `started`: earlier frames of the clip have passed, so the cache has their state.
  at::Tensor operator()(const at::Tensor& x, const VaePass& pass, bool started) const;
  at::Tensor operator()(const at::Tensor& x, const VaePass& pass) const {
    return (*this)(x, pass, !pass.first());
  }

  int64_t out() const { return weight.size(0); }
  at::Tensor tap(int64_t index) const { return weight.select(2, index); }
};

struct ResidualBlock {
  ChannelNorm norm1, norm2;
  CausalConv conv1, conv2;
  std::optional<PointConv> shortcut;  // if the number of channels changes

  ResidualBlock(const Scope& scope, int64_t in, int64_t out);
  at::Tensor operator()(at::Tensor x, const VaePass& pass) const;
};

// Single-head attention over the pixels of each frame.
struct FrameAttention {
  ChannelNorm norm;
  PixelConv to_qkv, proj;

  FrameAttention(const Scope& scope, int64_t channels);
  at::Tensor operator()(at::Tensor x) const;
};

// Residual, attention, residual: the coarsest part of both networks.
struct MiddleBlock {
  std::vector<ResidualBlock> resnets;
  FrameAttention attention;

  MiddleBlock(const Scope& scope, int64_t channels);
  at::Tensor operator()(at::Tensor x, const VaePass& pass) const;
};

// x [T, B, H, W, in], weight [out, in, k, k] with k = 1 or 3, bias [out] or undefined. Stride 1
// pads for k = 3 and keeps the size; for stride 2 the caller pads x.
at::Tensor conv_frames(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                       int64_t stride = 1);

// a + b, computed in the memory of `a` if no gradient is needed.
at::Tensor add_to(at::Tensor a, const at::Tensor& b);

}  // namespace loci::model
