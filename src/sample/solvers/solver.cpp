// SPDX-License-Identifier: Apache-2.0
#include "loci/sample/solvers/solver.h"

#include "loci/base/choice.h"
#include "loci/base/error.h"

namespace loci::sample {

const std::vector<std::string>& solver_names() {
  static const std::vector<std::string> names = {
      "euler", "unipc", "dpm++", "mean", "renoise", "renoise-bf16", "renoise-rounded"};
  return names;
}

std::vector<double> shifted_levels(int64_t count, double first, double shift) {
  std::vector<double> levels;
  for (int64_t i = 0; i < count; ++i) {
    const double s = first * static_cast<double>(count - i) / static_cast<double>(count);
    levels.push_back(shift * s / (1 + (shift - 1) * s));
  }
  levels.push_back(0);
  return levels;
}

std::unique_ptr<Solver> make_solver(const SolverOptions& options) {
  if (options.steps < 1 || options.steps > 1000) {
    fail("{} denoising steps are out of range; choose 1 to 1000", options.steps);
  }
  // The range of generation.json. Smaller values would round to a noise level of 0.
  if (!(options.shift >= 1e-3 && options.shift <= 1000)) {
    fail("shift {} is out of range; choose 0.001 to 1000, such as 5", options.shift);
  }
  if (options.kind == "euler") return make_euler(options.steps, options.shift);
  if (options.kind == "unipc") return make_unipc(options.steps, options.shift);
  if (options.kind == "dpm++") return make_dpmpp(options.steps, options.shift);
  if (options.kind == "mean") return make_mean(options.steps);
  if (options.kind == "renoise") {
    return make_renoise(options.steps, options.shift, RenoiseRounding::kExact);
  }
  if (options.kind == "renoise-bf16") {
    return make_renoise(options.steps, options.shift, RenoiseRounding::kTimesteps);
  }
  if (options.kind == "renoise-rounded") {
    return make_renoise(options.steps, options.shift, RenoiseRounding::kLevels);
  }
  fail_choice("solver", options.kind, solver_names());
}

}  // namespace loci::sample
