// SPDX-License-Identifier: Apache-2.0
#include "loci/model/autoencoder/vae_resample.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"

namespace loci::model {

Downsample::Downsample(const Scope& scope, int64_t channels, bool temporal)
    : resample(scope["resample"][1], channels, channels, 3), name(scope["time_conv"].name()) {
  if (!temporal) return;
  time_weight = scope["time_conv"].parameter("weight", {channels, channels, 3, 1, 1},
                                             init::fan_in(3 * channels));
  time_bias = scope["time_conv"].parameter("bias", {channels}, init::zeros);
}

at::Tensor Downsample::operator()(const at::Tensor& x, const VaePass& pass) const {
  const at::Tensor padded = at::constant_pad_nd(x, {0, 0, 0, 1, 0, 1});
  const at::Tensor half = conv_frames(padded, resample.weight, resample.bias, /*stride=*/2);
  return time_weight.defined() ? halve_rate(half, pass) : half;
}

// Output i depends on frames 2i-1, 2i and 2i+1, counted from the second frame of the clip.
at::Tensor Downsample::halve_rate(const at::Tensor& x, const VaePass& pass) const {
  const std::vector<int64_t> shape(x.sizes().begin() + 1, x.sizes().end());
  at::Tensor before, pairs = x;
  if (pass.first()) {
    before = x.narrow(0, 0, 1);
    pairs = x.narrow(0, 1, x.size(0) - 1);
  } else {
    before =
        pass.cache->take(pass.tile + name + ".last", true, shape).unsqueeze(0).to(x.scalar_type());
  }
  if (pass.cache != nullptr)
    pass.cache->put(pass.tile + name + ".last", x.select(0, x.size(0) - 1).clone());
  if (pairs.size(0) == 0) return x;
  LOCI_CHECK(pairs.size(0) % 2 == 0, "{} frames after the first are not pairs", pairs.size(0));

  const at::Tensor even = pairs.slice(0, 0, {}, 2), odd = pairs.slice(0, 1, {}, 2);
  const at::Tensor earlier = at::cat({before, odd.narrow(0, 0, odd.size(0) - 1)});
  const auto tap = [this](int64_t index) { return time_weight.select(2, index); };
  at::Tensor out = conv_frames(odd, tap(2), time_bias);
  out = add_to(std::move(out), conv_frames(even, tap(1), {}));
  out = add_to(std::move(out), conv_frames(earlier, tap(0), {}));
  return pass.first() ? at::cat({before, out}) : out;
}

Upsample::Upsample(const Scope& scope, int64_t channels, bool temporal, bool shuffle)
    : shuffle(shuffle),
      resample(scope["resample"][1], channels, shuffle ? 4 * channels : channels, 3) {
  if (temporal) time_conv.emplace(scope["time_conv"], channels, 2 * channels, 1);
}

at::Tensor Upsample::operator()(at::Tensor x, const VaePass& pass) const {
  if (time_conv) x = double_rate(x, pass);
  const int64_t frames = x.size(0), batch = x.size(1), height = x.size(2), width = x.size(3);
  if (shuffle) {
    // Channel order: (row, column, channel).
    return resample(x)
        .view({frames, batch, height, width, 2, 2, x.size(4)})
        .permute({0, 1, 2, 4, 3, 5, 6})
        .reshape({frames, batch, 2 * height, 2 * width, x.size(4)});
  }
  const at::Tensor repeated = x.view({frames, batch, height, 1, width, 1, x.size(4)})
                                  .expand({-1, -1, -1, 2, -1, 2, -1})
                                  .reshape({frames, batch, 2 * height, 2 * width, x.size(4)});
  x.reset();
  return resample(repeated);
}

// The first frame of the clip stays single, and later frames do not depend on it here.
at::Tensor Upsample::double_rate(const at::Tensor& x, const VaePass& pass) const {
  const at::Tensor pairs = pass.first() ? x.narrow(0, 1, x.size(0) - 1) : x;
  if (pairs.size(0) == 0) return x;
  const bool started = pass.cache != nullptr && pass.cache->latents() > 1;
  const at::Tensor both = (*time_conv)(pairs, pass, started);  // [T, B, H, W, 2C]
  at::Tensor doubled = at::stack(both.chunk(2, -1), 1).flatten(0, 1);
  return pass.first() ? at::cat({x.narrow(0, 0, 1), doubled}) : doubled;
}

at::Tensor shrink_shortcut(const at::Tensor& x, int64_t out, bool space, bool time, bool first) {
  const int64_t s = space ? 2 : 1, t = time ? 2 : 1;
  // The first frame of the clip has no partner.
  const at::Tensor whole =
      time && first ? at::constant_pad_nd(x, {0, 0, 0, 0, 0, 0, 0, 0, 1, 0}) : x;
  const int64_t frames = whole.size(0) / t, batch = x.size(1);
  const int64_t height = x.size(2) / s, width = x.size(3) / s, channels = x.size(4);
  // Channel order: (channel, frame of the pair, row, column).
  return whole.reshape({frames, t, batch, height, s, width, s, channels})
      .permute({0, 2, 3, 5, 7, 1, 4, 6})
      .reshape({frames, batch, height, width, out, channels * t * s * s / out})
      .mean(-1);
}

at::Tensor add_grown(at::Tensor x, const at::Tensor& in, bool time, bool first) {
  const int64_t t = time ? 2 : 1, out = x.size(4), repeats = out * t * 4 / in.size(4);
  const int64_t frames = in.size(0), batch = in.size(1), height = in.size(2), width = in.size(3);
  if (at::GradMode::is_enabled()) {
    const at::Tensor grown = in.repeat_interleave(repeats, -1)
                                 .reshape({frames, batch, height, width, out, t, 2, 2})
                                 .permute({0, 5, 1, 2, 6, 3, 7, 4})
                                 .reshape({frames * t, batch, 2 * height, 2 * width, out});
    return x + (time && first ? grown.narrow(0, 1, frames * t - 1) : grown);
  }
  // Computed for one of the 2x2 pixels and one frame of the pair at a time, which needs at most a
  // quarter of the memory.
  const at::Tensor channels = at::arange(out, at::TensorOptions(at::kLong).device(x.device()));
  for (int64_t frame = 0; frame < frames * t; ++frame) {
    const int64_t place = time && first ? frame - 1 : frame;
    if (place < 0) continue;
    for (int64_t corner = 0; corner < 4; ++corner) {
      const at::Tensor from = (channels * t + frame % t).mul(4).add(corner).div(repeats, "floor");
      x.select(0, place)
          .slice(1, corner / 2, {}, 2)
          .slice(2, corner % 2, {}, 2)
          .add_(in.select(0, frame / t).index_select(-1, from));
    }
  }
  return x;
}

at::Tensor patchify(const at::Tensor& pixels, int64_t patch) {
  const int64_t batch = pixels.size(0), frames = pixels.size(2);
  const int64_t height = pixels.size(3) / patch, width = pixels.size(4) / patch;
  return pixels.reshape({batch, 3, frames, height, patch, width, patch})
      .permute({2, 0, 3, 5, 1, 6, 4})
      .reshape({frames, batch, height, width, 3 * patch * patch});
}

at::Tensor unpatchify(const at::Tensor& x, int64_t patch) {
  const int64_t frames = x.size(0), batch = x.size(1), height = x.size(2), width = x.size(3);
  return x.reshape({frames, batch, height, width, 3, patch, patch})
      .permute({1, 4, 0, 2, 6, 3, 5})
      .reshape({batch, 3, frames, height * patch, width * patch});
}

}  // namespace loci::model
