// SPDX-License-Identifier: Apache-2.0
// Golden cases: inputs and outputs of one part of the engine in a safetensors file, computed
// independently. Running one gives the error of every output.
#pragma once

#include <c10/core/ScalarType.h>

#include <filesystem>
#include <string>
#include <vector>

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
// are for FP32; in BF16 they are multiplied by 2^16 (the ratio of the two roundings) but never
// exceed kMaxBf16Tolerance.
GoldenResult run_golden(const std::filesystem::path& file, at::ScalarType compute = at::kFloat);

inline constexpr double kMaxBf16Tolerance = 0.15;

}  // namespace loci::eval
