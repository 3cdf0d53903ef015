// SPDX-License-Identifier: Apache-2.0
#include "loci/train/transformer/recurrent_start.h"

#include <cmath>
#include <map>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/random.h"
#include "loci/camera/time_grid.h"
#include "loci/train/windows/window_pass.h"

namespace loci::train {

namespace {

constexpr uint64_t kStartWindows = 8;
constexpr double kPastNoise = 0.05;  // about the noise level of a clean copy
constexpr double kMinCommon = 1e-3;  // share of the squared mean in the mean square of the inputs

// Sums over the tokens of one layer.
struct LayerSums {
  at::Tensor keys, queries;  // of products [H, 128, 128]
  at::Tensor input;          // [width], of clean frames
  double square = 0;         // squared norms of these inputs
  int64_t written = 0;       // number of these tokens
};

// x [1, n, H, 128] → the sum of x xᵀ over n, [H, 128, 128].
at::Tensor products(const at::Tensor& x) {
  const at::Tensor heads = x[0].transpose(0, 1).to(at::kDouble);
  return at::bmm(heads.transpose(1, 2), heads);
}

void add(at::Tensor& sum, const at::Tensor& value) { sum = sum.defined() ? sum + value : value; }

// Every other chunk is pure noise, like a chunk that reads the states; the others are nearly clean,
// like chunks that are written.
ChunkNoise alternating(int64_t chunks) {
  ChunkNoise noise;
  noise.weights.assign(static_cast<size_t>(chunks), 1.0);
  for (int64_t i = 0; i < chunks; ++i) noise.levels.push_back(i % 2 == 0 ? kPastNoise : 1.0);
  return noise;
}

}  // namespace

RecurrentStartConfig RecurrentStartConfig::from(const ConfigReader& reader) {
  RecurrentStartConfig config;
  config.whiten = reader.get<double>("whiten", config.whiten, 0.0, 1e3);
  config.write = reader.get<double>("write", config.write, 0.0, 2 - 1e-6);
  return config;
}

at::Tensor whitening(const at::Tensor& moments, double share) {
  const auto [values, vectors] = at::linalg_eigh(moments.to(at::kDouble));
  const at::Tensor scale = (values + share * values.mean(-1, true)).rsqrt();
  const at::Tensor root = at::matmul(vectors * scale.unsqueeze(-2), vectors.transpose(-2, -1));
  const double identity = std::sqrt(static_cast<double>(moments.size(-1)));
  return root * (identity / root.norm(2, {-2, -1}, true));
}

void start_recurrent(const RecurrentStartConfig& config, const model::Transformer& transformer,
                     const CaptionEncoder& captions, const WindowSource& source, int64_t frames,
                     const HistoryConfig& history, uint64_t seed) {
  const at::NoGradGuard no_grad;
  const camera::TimeGrid grid{.latents_per_chunk = transformer.config().chunk_size};
  const ChunkNoise noise = alternating(grid.chunks_in_latents(frames) - 1);
  std::map<int64_t, LayerSums> sums;
  for (uint64_t i = 0; i < kStartWindows; ++i) {
    check_interrupt();
    const Window window = source.window(i, frames);
    const uint64_t key = hash_keys({seed, i});
    WindowPlan plan;
    plan.noise = noise;
    plan.chunks = draw_visible_history(history, window, transformer.config(), key);
    const WindowPass pass =
        assemble_window(window, transformer.config(), plan, key, transformer.device());
    PassOptions options;
    options.observers.on_recurrent = [&](int64_t layer, const model::RecurrentInputs& inputs) {
      LayerSums& sum = sums[layer];
      const int64_t tokens = inputs.h.size(1) / pass.maps.frames;
      for (size_t c = 1; c < pass.chunks.size(); ++c) {
        const int64_t begin = pass.chunks[c].begin * tokens;
        const int64_t count = pass.chunks[c].end * tokens - begin;
        if (noise.levels[c - 1] == 1.0) {
          add(sum.queries, products(inputs.query.narrow(1, begin, count)));
        } else {
          add(sum.keys, products(inputs.key.narrow(1, begin, count)));
          const at::Tensor h = inputs.h[0].narrow(0, begin, count).to(at::kDouble);
          add(sum.input, h.sum(0));
          sum.square += h.square().sum().item<double>();
          sum.written += count;
        }
      }
    };
    run_window(transformer, pass, captions.encode(window.caption), options);
  }
  std::map<std::string, at::Tensor> parameters;
  for (const auto& [name, tensor] : transformer.parameters().all()) parameters[name] = tensor;
  for (const auto& [layer, sum] : sums) {
    const std::string prefix = fmt::format("blocks.{}.kda.", layer);
    if (config.whiten > 0) {
      for (const auto& [name, moments] : {std::pair("phi_q", sum.queries), {"phi_k", sum.keys}}) {
        at::Tensor& phi = parameters.at(prefix + name + ".weight");
        if (!moments.defined()) continue;
        const int64_t copies = transformer.config().recurrent_heads_per_head;
        phi.copy_(
            whitening(moments, config.whiten).repeat_interleave(copies, 0).view(phi.sizes()));
      }
    }
    if (config.write > 0 && sum.written > 0) {
      // b_proj has no bias, but most of a block's input is the same for all tokens, so that its
      // mean serves as one.
      const at::Tensor mean = sum.input / sum.written;
      const auto common = mean.square().sum().item<double>();
      if (common * static_cast<double>(sum.written) <= kMinCommon * sum.square) {
        fail(
            "recurrent_start.write: the inputs of block {} have no common mean from which β could "
            "be set; remove the key, or start from a trained model",
            layer);
      }
      const double logit =
          std::log(config.write / (2 - config.write)) - transformer.config().beta_offset();
      parameters.at(prefix + "b_proj.weight").add_(mean * (logit / common));
    }
  }
}

}  // namespace loci::train
