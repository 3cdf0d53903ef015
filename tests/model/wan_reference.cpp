// SPDX-License-Identifier: Apache-2.0
#include "tests/model/wan_reference.h"

#include <cmath>

namespace loci::testing {

namespace {

class Wan {
 public:
  Wan(const WanSizes& sizes, const WanWeights& weights) : s_(sizes), w_(weights) {}

  at::Tensor velocity(const at::Tensor& latents, const at::Tensor& timesteps,
                      const at::Tensor& text) const {
    frames_ = latents.size(1);
    rows_ = latents.size(2) / 2;
    columns_ = latents.size(3) / 2;
    at::Tensor x = at::conv3d(latents.unsqueeze(0), get("patch_embedding.weight"),
                              get("patch_embedding.bias"), {1, 2, 2})
                       .flatten(2)
                       .squeeze(0)
                       .t();  // [N, width]
    // One embedding per frame, repeated for its tokens.
    const at::Tensor t = timesteps.repeat_interleave(rows_ * columns_);
    const at::Tensor time =
        linear("time_embedding.2", at::silu(linear("time_embedding.0", sinusoid(t))));
    const at::Tensor modulation =
        linear("time_projection.1", at::silu(time)).view({-1, 6, s_.width()});
    const at::Tensor padded = at::constant_pad_nd(text, {0, 0, 0, s_.text_len - text.size(0)});
    const at::Tensor context =
        linear("text_embedding.2", at::gelu(linear("text_embedding.0", padded), "tanh"));
    for (int64_t layer = 0; layer < s_.layers; ++layer) {
      x = block("blocks." + std::to_string(layer) + ".", x, modulation, context);
    }
    const at::Tensor head = get("head.modulation") + time.unsqueeze(1);  // [N, 2, width]
    x = norm(x) * (1 + head.select(1, 1)) + head.select(1, 0);
    x = linear("head.head", x);  // [N, 4 * C], ordered (row, column, channel) within a patch
    return x.view({frames_, rows_, columns_, 2, 2, s_.channels})
        .permute({5, 0, 1, 3, 2, 4})
        .reshape(latents.sizes());
  }

 private:
  at::Tensor get(const std::string& name) const { return w_.at(name); }
  at::Tensor linear(const std::string& name, const at::Tensor& x) const {
    return at::matmul(x, get(name + ".weight").t()) + get(name + ".bias");
  }
  static at::Tensor norm(const at::Tensor& x) {
    const at::Tensor centred = x - x.mean(-1, true);
    return centred / at::sqrt(centred.square().mean(-1, true) + 1e-6);
  }
  at::Tensor rms(const std::string& name, const at::Tensor& x) const {
    return x / at::sqrt(x.square().mean(-1, true) + 1e-6) * get(name + ".weight");
  }
  at::Tensor sinusoid(const at::Tensor& t) const {
    const int64_t half = s_.freq_dim / 2;
    const at::Tensor rates =
        at::exp(-std::log(10000.0) * at::arange(half, at::kDouble) / static_cast<double>(half));
    const at::Tensor angle = at::outer(t, rates);
    return at::cat({at::cos(angle), at::sin(angle)}, 1);
  }

  // [N, heads, 128] as complex numbers, rotated by time, row and column.
  at::Tensor rotary(const at::Tensor& x) const {
    const auto angles = [](int64_t count, int64_t size) {
      const at::Tensor rates =
          at::pow(10000.0, -at::arange(0, size, 2, at::kDouble) / static_cast<double>(size));
      return at::outer(at::arange(count, at::kDouble), rates);
    };
    const at::Tensor t = angles(frames_, 44).view({frames_, 1, 1, 22});
    const at::Tensor r = angles(rows_, 42).view({1, rows_, 1, 21});
    const at::Tensor c = angles(columns_, 42).view({1, 1, columns_, 21});
    const at::Tensor angle =
        at::cat({t.expand({frames_, rows_, columns_, 22}), r.expand({frames_, rows_, columns_, 21}),
                 c.expand({frames_, rows_, columns_, 21})},
                -1)
            .view({-1, 1, 64});
    const at::Tensor turn = at::polar(at::ones_like(angle), angle);
    const at::Tensor pairs =
        at::view_as_complex(x.reshape({x.size(0), s_.heads, 64, 2}).contiguous());
    return at::view_as_real(pairs * turn).flatten(2);
  }

  // Softmax attention of [N, heads, 128] over [M, heads, 128].
  at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) const {
    const at::Tensor scores = at::einsum("nhd,mhd->hnm", {q, k}) / std::sqrt(128.0);
    return at::einsum("hnm,mhd->nhd", {at::softmax(scores, -1), v}).flatten(1);
  }
  at::Tensor heads(const at::Tensor& x) const { return x.view({x.size(0), s_.heads, 128}); }

  at::Tensor block(const std::string& at_block, const at::Tensor& input,
                   const at::Tensor& modulation, const at::Tensor& context) const {
    const at::Tensor e = get(at_block + "modulation") + modulation;  // [N, 6, width]
    at::Tensor x = input;
    const at::Tensor h = norm(x) * (1 + e.select(1, 1)) + e.select(1, 0);
    const std::string self = at_block + "self_attn.";
    const at::Tensor q = rotary(heads(rms(self + "norm_q", linear(self + "q", h))));
    const at::Tensor k = rotary(heads(rms(self + "norm_k", linear(self + "k", h))));
    const at::Tensor v = heads(linear(self + "v", h));
    x = x + linear(self + "o", attend(q, k, v)) * e.select(1, 2);
    const std::string cross = at_block + "cross_attn.";
    const at::Tensor g = norm(x) * get(at_block + "norm3.weight") + get(at_block + "norm3.bias");
    x = x + linear(cross + "o", attend(heads(rms(cross + "norm_q", linear(cross + "q", g))),
                                       heads(rms(cross + "norm_k", linear(cross + "k", context))),
                                       heads(linear(cross + "v", context))));
    const at::Tensor f = norm(x) * (1 + e.select(1, 4)) + e.select(1, 3);
    return x + linear(at_block + "ffn.2", at::gelu(linear(at_block + "ffn.0", f), "tanh")) *
                   e.select(1, 5);
  }

  const WanSizes& s_;
  const WanWeights& w_;
  mutable int64_t frames_ = 0, rows_ = 0, columns_ = 0;
};

}  // namespace

WanWeights random_wan_weights(const WanSizes& sizes, uint64_t seed) {
  at::manual_seed(seed);
  WanWeights weights;
  const auto add = [&](const std::string& name, std::vector<int64_t> shape, double mean,
                       double spread) {
    weights[name] = mean + spread * at::randn(shape, at::kDouble);
  };
  const auto linear = [&](const std::string& name, int64_t in, int64_t out) {
    add(name + ".weight", {out, in}, 0, 1 / std::sqrt(static_cast<double>(in)));
    add(name + ".bias", {out}, 0, 0.1);
  };
  const int64_t width = sizes.width();
  add("patch_embedding.weight", {width, sizes.channels, 1, 2, 2}, 0, 0.3);
  add("patch_embedding.bias", {width}, 0, 0.1);
  linear("time_embedding.0", sizes.freq_dim, width);
  linear("time_embedding.2", width, width);
  linear("time_projection.1", width, 6 * width);
  linear("text_embedding.0", sizes.text_dim, width);
  linear("text_embedding.2", width, width);
  for (int64_t layer = 0; layer < sizes.layers; ++layer) {
    const std::string at_block = "blocks." + std::to_string(layer) + ".";
    for (const std::string attention : {"self_attn.", "cross_attn."}) {
      for (const char* part : {"q", "k", "v", "o"})
        linear(at_block + attention + part, width, width);
      add(at_block + attention + "norm_q.weight", {width}, 1, 0.2);
      add(at_block + attention + "norm_k.weight", {width}, 1, 0.2);
    }
    add(at_block + "norm3.weight", {width}, 1, 0.2);
    add(at_block + "norm3.bias", {width}, 0, 0.2);
    linear(at_block + "ffn.0", width, sizes.ffn);
    linear(at_block + "ffn.2", sizes.ffn, width);
    add(at_block + "modulation", {1, 6, width}, 0, 0.3);
  }
  add("head.modulation", {1, 2, width}, 0, 0.3);
  linear("head.head", width, 4 * sizes.channels);
  return weights;
}

at::Tensor wan_velocity(const WanSizes& sizes, const WanWeights& weights, const at::Tensor& latents,
                        const at::Tensor& timesteps, const at::Tensor& text) {
  return Wan(sizes, weights)
      .velocity(latents.to(at::kDouble), timesteps.to(at::kDouble), text.to(at::kDouble));
}

}  // namespace loci::testing
