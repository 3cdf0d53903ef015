// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "loci/sample/solvers/solver.h"

namespace loci::sample {

namespace {

// Each step is a one-step sample. The first starts from the chunk's noise, the second from its
// negation, the next pair from the same noise shifted by one column.
class MeanSolver : public Solver {
 public:
  explicit MeanSolver(int64_t steps) : Solver(levels(steps)) {}

  at::Tensor step(int64_t i, const at::Tensor& x, const at::Tensor& velocity) override {
    if (i == 0) noise_ = x;
    const at::Tensor sample = x - velocity;
    sum_ = i == 0 ? sample : sum_ + sample;
    const int64_t next = i + 1;
    if (next == steps()) return sum_ / steps();
    const at::Tensor noise = noise_.roll(next / 2, -1);
    return next % 2 == 0 ? noise : -noise;
  }

 private:
  static std::vector<double> levels(int64_t steps) {
    std::vector<double> levels(static_cast<size_t>(steps), 1.0);
    levels.push_back(0);
    return levels;
  }

  at::Tensor noise_, sum_;
};

}  // namespace

std::unique_ptr<Solver> make_mean(int64_t steps) { return std::make_unique<MeanSolver>(steps); }

}  // namespace loci::sample
