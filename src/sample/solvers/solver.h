// SPDX-License-Identifier: Apache-2.0
// Solvers of the flow's differential equation: from noise (level 1) to a clean latent (level 0) in
// a given number of steps.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::sample {

struct SolverOptions {
  std::string kind = "euler";  // or "unipc", "dpm++", "mean"
  int64_t steps = 50;
  double shift = 5;  // bends the levels towards noise: shift*s / (1 + (shift-1)*s)
};

// The names `kind` may have.
const std::vector<std::string>& solver_names();

// Solves for one chunk: for i = 0 … steps-1, ask the model for the velocity of x at timestep(i) and
// hand both to step(). A solver remembers earlier steps; make a new one for the next chunk.
class Solver {
 public:
  virtual ~Solver() = default;

  int64_t steps() const { return static_cast<int64_t>(levels_.size()) - 1; }
  // Noise level before step i; level(steps()) is 0.
  double level(int64_t i) const { return levels_.at(i); }
  // What the model is told, 0 … 1000.
  virtual double timestep(int64_t i) const { return 1000 * level(i); }

  virtual at::Tensor step(int64_t i, const at::Tensor& x, const at::Tensor& velocity) = 0;

 protected:
  explicit Solver(std::vector<double> levels) : levels_(std::move(levels)) {}

 private:
  std::vector<double> levels_;  // descending, the last is 0
};

std::unique_ptr<Solver> make_solver(const SolverOptions& options);

// The release's: plain Euler on levels 1 - i/steps, shifted.
std::unique_ptr<Solver> make_euler(int64_t steps, double shift);
// Wan's default: UniPC of order 2 (bh2) on levels that start at 0.999, whole timesteps.
std::unique_ptr<Solver> make_unipc(int64_t steps, double shift);
// Wan's other one: DPM-Solver++ of order 2 (midpoint), whole timesteps.
std::unique_ptr<Solver> make_dpmpp(int64_t steps, double shift);
// No solver of the flow: the mean of what the model holds possible, from `steps` looks at pure
// noise in pairs of opposites, whose errors cancel to first order. Nearest to the truth, and soft.
std::unique_ptr<Solver> make_mean(int64_t steps);

// `count` levels from `first` down to, not including, 0 in equal steps, shifted, then 0.
std::vector<double> shifted_levels(int64_t count, double first, double shift);

}  // namespace loci::sample
