// SPDX-License-Identifier: Apache-2.0
// Golden cases: inputs and independently computed outputs of one part of the engine, in a
// safetensors file. Running a case gives the error of every output.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <c10/core/ScalarType.h>

#include "loci/base/config.h"

namespace loci::eval {

struct GoldenOutput {
  std::string name;
  double error = 0;  // largest absolute error / standard deviation of the expected output
  double tolerance = 0;
  bool passed() const { return error <= tolerance; }  // a NaN error fails
};

struct GoldenResult {
  std::string kind;  // geometry, delta_scan, window, stream_dense, stream_sparse, bank, vae, …
  std::vector<GoldenOutput> outputs;
  bool passed() const;
  Json to_json() const;
};

// Runs the case in `file`. Weights are read from the file that the case names, in the same folder.
// The tolerances in the file apply to FP32.
GoldenResult run_golden(const std::filesystem::path& file, at::ScalarType compute = at::kFloat);

// The tolerance for products in BF16.
// - Frame selection, geometry and the delta rule run in FP32 or FP64 in every mode: unchanged.
// - Maps applied to BF16 inputs round twice, each time by up to 2^-9 of values that reach ten
//   standard deviations: 0.05.
// - Networks accumulate such errors over layers: 0.05 for velocities, 0.15 for states (keys and
//   values of a chunk enter them at full weight), 0.25 for the autoencoder and the text encoder,
//   whose residual sums are BF16, too. The values are two to three times the errors of this engine
//   on the cases in tests/data.
double bf16_tolerance(const std::string& kind, const std::string& output, double fp32_tolerance);

}  // namespace loci::eval
