// SPDX-License-Identifier: Apache-2.0
#include "loci/train/windows/rollout.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "loci/base/interrupt.h"
#include "loci/base/random.h"
#include "loci/sample/solvers/solver.h"
#include "loci/sample/stream/cached_transformer.h"

namespace loci::train {

at::Tensor continue_window(const model::Transformer& transformer, const Window& window,
                           int64_t given, const at::Tensor& text, int64_t steps, uint64_t seed) {
  const at::NoGradGuard no_grad;
  const at::Device device = transformer.device();
  at::Tensor latents = window.latents.to(device, at::kFloat, false, /*copy=*/true).unsqueeze(0);
  const auto frames = static_cast<int64_t>(window.cameras.size());
  sample::CachedTransformer stream(transformer,
                                   transformer.config().grid(latents.size(3), latents.size(4)),
                                   transformer.text_keys(text), memory::make_dense_history());
  for (const model::ChunkSpan& chunk :
       model::window_chunks(frames, transformer.config().chunk_size)) {
    check_interrupt();
    const int64_t size = chunk.end - chunk.begin;
    stream.open_chunk(std::span(window.cameras)
                          .subspan(static_cast<size_t>(chunk.begin), static_cast<size_t>(size)));
    at::Tensor here = latents.narrow(2, chunk.begin, size);
    if (chunk.begin >= given) {
      at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(
          hash_keys({seed, static_cast<uint64_t>(chunk.begin)}));
      at::Tensor x = at::randn(here.sizes(), generator, at::kFloat).to(device);
      const std::unique_ptr<sample::Solver> solver = sample::make_solver({.steps = steps});
      for (int64_t i = 0; i < solver->steps(); ++i) {
        const at::Tensor time = at::full({1, size}, solver->timestep(i), x.options());
        x = solver->step(i, x, stream.velocity(x, time));
      }
      here.copy_(x);
    }
    if (chunk.end < frames) stream.commit(here, at::zeros({1, size}, here.options()));
  }
  return latents.squeeze(0).to(window.latents.device());
}

}  // namespace loci::train
