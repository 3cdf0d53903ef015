// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/analysis/attention_replay.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/random.h"
#include "loci/kernels/attention/attention.h"

namespace loci::eval {

std::vector<LayerShares> replay_attention(sample::Stream& stream, const at::Tensor& latents,
                                          std::span<const DepthFrame> views,
                                          std::span<const int64_t> instants,
                                          const camera::TokenGrid& grid,
                                          const ReplayOptions& options) {
  const at::NoGradGuard no_grad;
  LOCI_CHECK(latents.size(2) == std::ssize(views) && stream.frames() == 0,
             "{} latent frames, {} views, stream with {} frames", latents.size(2), views.size(),
             stream.frames());
  std::vector<camera::Camera> cameras;
  for (const DepthFrame& view : views) cameras.push_back(view.camera);
  const int64_t tokens = grid.tokens();
  std::vector<LayerShares> result(options.readouts.size());
  auto next = instants.begin();
  for (int64_t at = 0; at < latents.size(2) && next != instants.end();) {
    check_interrupt();
    const int64_t count = at == 0 ? 1 : std::min(stream.chunk_size(), latents.size(2) - at);
    const auto first = static_cast<size_t>(at), many = static_cast<size_t>(count);
    const at::Tensor chunk = latents.narrow(2, at, count);
    stream.accept(chunk, std::span(cameras).subspan(first, many));
    const auto begin = next;
    while (next != instants.end() && *next < at + count) ++next;
    at += count;
    if (begin == next) continue;

    std::vector<DepthFrame> past;
    for (const int64_t frame : stream.main().visible()) {
      past.push_back(views[static_cast<size_t>(frame)]);
    }
    std::vector<at::Tensor> covisible;
    for (auto i = begin; i != next; ++i) {
      covisible.push_back(covisible_tokens(views[static_cast<size_t>(*i)], past, grid));
    }
    const double level = options.timestep / 1000;
    const at::Tensor noise =
        at::randn(chunk.sizes(),
                  at::make_generator<at::CPUGeneratorImpl>(
                      hash_keys({options.seed, static_cast<uint64_t>(first), 0x617474656e64})),
                  at::TensorOptions(at::kFloat));
    const at::Tensor noisy = chunk.to(at::kFloat) * (1 - level) + noise * level;
    const at::Tensor times = at::full({1, count}, options.timestep, at::kFloat);
    for (size_t r = 0; r < options.readouts.size(); ++r) {
      sample::Inspection inspection;
      inspection.readout = options.readouts[r];
      inspection.on_attention = [&](int64_t layer, const at::Tensor& query, const at::Tensor& key,
                                    const kernels::AttentionPast* seen) {
        const at::Tensor own = key.select(0, 0);
        const at::Tensor before = seen == nullptr ? own.narrow(0, 0, 0) : seen->keys().select(0, 0);
        for (auto i = begin; i != next; ++i) {
          const int64_t place = *i - static_cast<int64_t>(first);
          result[r][layer].push_back(
              attention_share(query.select(0, 0).narrow(0, place * tokens, tokens), before, own,
                              covisible[static_cast<size_t>(i - begin)]));
        }
      };
      stream.main().velocity(noisy, times, inspection);
    }
  }
  return result;
}

}  // namespace loci::eval
