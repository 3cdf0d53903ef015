// SPDX-License-Identifier: Apache-2.0
#include "loci/sample/solvers/denoise.h"

#include <ATen/ATen.h>

#include "loci/base/interrupt.h"

namespace loci::sample {

at::Tensor denoise(Solver& solver, const at::Tensor& noise, const at::Tensor& given,
                   const VelocityOf& velocity) {
  const int64_t frames = noise.size(2), known = given.defined() ? given.size(2) : 0;
  const auto with_given = [&](const at::Tensor& x) {
    return known == 0 ? x
                      : at::cat({given.to(x.scalar_type()), x.narrow(2, known, frames - known)}, 2);
  };
  const auto times = [&](double timestep) {
    const at::Tensor each = at::full({1, frames}, timestep, at::kFloat);
    if (known > 0) each.narrow(1, 0, known).zero_();
    return each;
  };
  at::Tensor x = with_given(noise);
  for (int64_t i = 0; i < solver.steps(); ++i) {
    check_interrupt();
    const double target = i + 1 < solver.steps() ? solver.timestep(i + 1) : 0;
    x = with_given(solver.step(i, x, velocity(x, times(solver.timestep(i)), times(target))));
  }
  return x;
}

}  // namespace loci::sample
