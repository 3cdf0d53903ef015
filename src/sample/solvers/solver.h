// SPDX-License-Identifier: Apache-2.0
// Solvers of the flow ODE: from noise (noise level 1) to a clean latent (noise level 0) in a given
// number of denoising steps.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::sample {

struct SolverOptions {
  std::string kind = "euler";  // or "unipc", "dpm++", "mean"
  int64_t steps = 50;
  double shift = 5;  // moves noise levels towards 1: shift*s / (1 + (shift-1)*s)
};

// Valid values of SolverOptions::kind.
const std::vector<std::string>& solver_names();

// Denoises one chunk: for i = 0 … steps-1, the caller computes the model's velocity of x at
// timestep(i) and passes both to step(). A solver keeps earlier steps; each chunk needs a new one.
class Solver {
 public:
  virtual ~Solver() = default;

  int64_t steps() const { return static_cast<int64_t>(levels_.size()) - 1; }
  // Noise level before step i; level(steps()) is 0.
  double level(int64_t i) const { return levels_.at(i); }
  // Timestep for the model, 0 … 1000.
  virtual double timestep(int64_t i) const { return 1000 * level(i); }

  virtual at::Tensor step(int64_t i, const at::Tensor& x, const at::Tensor& velocity) = 0;

 protected:
  explicit Solver(std::vector<double> levels) : levels_(std::move(levels)) {}

 private:
  std::vector<double> levels_;  // descending, the last is 0
};

std::unique_ptr<Solver> make_solver(const SolverOptions& options);

// Euler on the shifted levels 1 - i/steps. Default of the LOCI release.
std::unique_ptr<Solver> make_euler(int64_t steps, double shift);
// UniPC of order 2 (bh2) with integer timesteps, on levels that start at 0.999. Default of Wan.
std::unique_ptr<Solver> make_unipc(int64_t steps, double shift);
// DPM-Solver++ of order 2 (midpoint) with integer timesteps. Alternative of Wan.
std::unique_ptr<Solver> make_dpmpp(int64_t steps, double shift);
// The mean of `steps` independent one-step samples, instead of a solution of the flow ODE. The
// noise comes in pairs of opposite sign, whose errors cancel to first order. The result has the
// smallest expected squared error, and is blurred.
std::unique_ptr<Solver> make_mean(int64_t steps);

// `count` shifted levels in equal steps from `first` towards 0, followed by 0.
std::vector<double> shifted_levels(int64_t count, double first, double shift);

}  // namespace loci::sample
