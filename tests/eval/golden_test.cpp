// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/golden/golden.h"

#include <gtest/gtest.h>

namespace loci::eval {
namespace {

class Golden : public ::testing::TestWithParam<const char*> {};

std::filesystem::path golden_file(const std::string& name) {
  return std::filesystem::path(LOCI_TEST_DATA) / "golden" / (name + ".safetensors");
}

TEST_P(Golden, WithinToleranceInFp32) {
  const GoldenResult result = run_golden(golden_file(GetParam()));
  for (const GoldenOutput& output : result.outputs) {
    EXPECT_LE(output.error, output.tolerance) << output.name;
    RecordProperty(output.name, std::to_string(output.error));
  }
}

TEST_P(Golden, WithinToleranceInBf16) {
  const GoldenResult result = run_golden(golden_file(GetParam()), at::kBFloat16);
  for (const GoldenOutput& output : result.outputs) {
    EXPECT_LE(output.error, output.tolerance) << output.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Golden,
                         ::testing::Values("geometry_a", "delta_scan_a", "window_a",
                                           "stream_dense_a", "stream_sparse_a", "bank_a", "vae_a",
                                           "text_encoder_a"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace loci::eval
