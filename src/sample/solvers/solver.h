// SPDX-License-Identifier: Apache-2.0
// Solvers of the flow ODE: from noise (noise level 1) to a clean latent (noise level 0) in a given
// number of denoising steps.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::sample {

struct SolverOptions {
  std::string kind = "euler";  // one of solver_names()
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

  // The source of fresh noise of the shape of x, for solvers that add noise: called once per step
  // i except the last. Must be set before step() for these solvers.
  void set_noise(std::function<at::Tensor(int64_t i)> noise) { noise_ = std::move(noise); }

 protected:
  explicit Solver(std::vector<double> levels) : levels_(std::move(levels)) {}
  at::Tensor fresh_noise(int64_t i) const { return noise_(i); }

 private:
  std::function<at::Tensor(int64_t)> noise_;
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

// Predicts the clean latent in every step and adds fresh noise at the next level. Levels are
// rounded to 1/1000 before the shift.
//  - kExact: no further rounding.
//  - kTimesteps: the model gets timesteps rounded to BF16, and predictions use the nearest of 1000
//    shifted levels; the added noise is that of the exact levels. SolarWM's.
//  - kLevels: timesteps and levels are rounded to BF16. Matrix-Game's.
enum class RenoiseRounding { kExact, kTimesteps, kLevels };
std::unique_ptr<Solver> make_renoise(int64_t steps, double shift, RenoiseRounding rounding);

// `count` shifted levels in equal steps from `first` towards 0, followed by 0.
std::vector<double> shifted_levels(int64_t count, double first, double shift);

}  // namespace loci::sample
