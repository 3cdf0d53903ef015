// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "loci/sample/solvers/solver.h"

namespace loci::sample {

namespace {

class EulerSolver : public Solver {
 public:
  EulerSolver(int64_t steps, double shift) : Solver(shifted_levels(steps, 1, shift)) {}

  at::Tensor step(int64_t i, const at::Tensor& x, const at::Tensor& velocity) override {
    return at::add(x, velocity, level(i + 1) - level(i));
  }
};

}  // namespace

std::unique_ptr<Solver> make_euler(int64_t steps, double shift) {
  return std::make_unique<EulerSolver>(steps, shift);
}

}  // namespace loci::sample
