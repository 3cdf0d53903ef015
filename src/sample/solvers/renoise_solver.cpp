// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <ATen/ATen.h>

#include "loci/sample/solvers/solver.h"

namespace loci::sample {

namespace {

constexpr int64_t kTableLevels = 1000;

double shifted(double s, double shift) { return shift * s / (1 + (shift - 1) * s); }

double to_bf16(double x) { return static_cast<float>(c10::BFloat16(static_cast<float>(x))); }

class RenoiseSolver : public Solver {
 public:
  RenoiseSolver(int64_t steps, double shift, RenoiseRounding rounding)
      : Solver(levels(steps, shift, rounding == RenoiseRounding::kLevels)) {
    const std::vector<double> exact = levels(steps, shift, false);
    for (int64_t i = 0; i < steps; ++i) {
      told_.push_back(1000 * exact[static_cast<size_t>(i)]);
      predicted_.push_back(level(i));
      if (rounding != RenoiseRounding::kExact) told_.back() = to_bf16(told_.back());
      if (rounding == RenoiseRounding::kTimesteps) {
        predicted_.back() = nearest_level(told_.back() / 1000, shift);
      }
    }
  }

  double timestep(int64_t i) const override { return told_.at(i); }

  at::Tensor step(int64_t i, const at::Tensor& x, const at::Tensor& velocity) override {
    const at::Tensor clean = at::sub(x, velocity, predicted_[i]);
    if (i + 1 == steps()) return clean;
    return clean * (1 - level(i + 1)) + fresh_noise(i) * level(i + 1);
  }

 private:
  static std::vector<double> levels(int64_t steps, double shift, bool rounded) {
    std::vector<double> levels;
    for (int64_t i = 0; i < steps; ++i) {
      const double share = static_cast<double>(steps - i) / static_cast<double>(steps);
      levels.push_back(shifted(std::max(1.0, std::round(1000 * share)) / 1000, shift));
      if (rounded) levels.back() = to_bf16(levels.back());
    }
    levels.push_back(0);
    return levels;
  }

  static double nearest_level(double wanted, double shift) {
    double nearest = 1;
    for (int64_t i = 0; i < kTableLevels; ++i) {
      const double s = 1 - static_cast<double>(i) / static_cast<double>(kTableLevels);
      const double level = shifted(s, shift);
      if (std::abs(level - wanted) < std::abs(nearest - wanted)) nearest = level;
    }
    return nearest;
  }

  std::vector<double> told_, predicted_;
};

}  // namespace

std::unique_ptr<Solver> make_renoise(int64_t steps, double shift, RenoiseRounding rounding) {
  return std::make_unique<RenoiseSolver>(steps, shift, rounding);
}

}  // namespace loci::sample
