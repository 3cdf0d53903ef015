// SPDX-License-Identifier: Apache-2.0
// Golden cases: inputs and outputs of one part of the engine in a safetensors file, computed
// independently. Running one gives the error of every output.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <c10/core/ScalarType.h>

#include "loci/base/config.h"

namespace loci::eval {

struct GoldenOutput {
  std::string name;
  double error = 0;  // largest absolute error divided by the expected output's standard deviation
  double tolerance = 0;
  bool passed() const { return error <= tolerance; }  // a NaN error fails
};

struct GoldenResult {
  std::string kind;  // geometry, delta_scan, window, stream_dense, stream_sparse, bank, vae, …
  std::vector<GoldenOutput> outputs;
  bool passed() const;
  Json to_json() const;
};

// Runs the case in `file`; weights are read from the file it names beside it. The stated tolerances
// are for FP32.
GoldenResult run_golden(const std::filesystem::path& file, at::ScalarType compute = at::kFloat);

// The largest error allowed when products run in BF16. Frame choices, geometry and the delta rule
// are computed in FP32 or FP64 in every mode and keep their tolerance. A map applied to BF16 input
// rounds twice, each time by up to 2^-9 of values that reach ten deviations: 0.05. Whole networks
// add up such roundings layer by layer: velocities 0.05, states 0.15 (keys and values of a chunk
// enter them at full weight), the autoencoder and the text encoder, whose residual sums are BF16
// too, 0.25. That is two to three times what this engine shows on the cases in tests/data.
double bf16_tolerance(const std::string& kind, const std::string& output, double fp32_tolerance);

}  // namespace loci::eval
