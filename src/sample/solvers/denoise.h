// SPDX-License-Identifier: Apache-2.0
// The loop over the denoising steps of a chunk.
#pragma once

#include <functional>

#include <ATen/core/Tensor.h>

#include "loci/sample/solvers/solver.h"

namespace loci::sample {

// The velocity of latents [1, C, F, h, w]; `timesteps` and `target_timesteps` [1, F] are those of
// the step and those to which it leads.
using VelocityOf = std::function<at::Tensor(const at::Tensor& latents, const at::Tensor& timesteps,
                                            const at::Tensor& target_timesteps)>;

// From noise [1, C, F, h, w] to clean latents of the same shape. `given` [1, C, n, h, w] are the
// first latents of the chunk: they replace those of every step and have the timestep 0. Undefined:
// none.
at::Tensor denoise(Solver& solver, const at::Tensor& noise, const at::Tensor& given,
                   const VelocityOf& velocity);

}  // namespace loci::sample
