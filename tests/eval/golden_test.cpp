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

// Cases of published systems, computed with the authors' modules.
class SystemGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(SystemGolden, WithinToleranceInFp32) {
  const GoldenResult result = run_golden(golden_file(GetParam()));
  for (const GoldenOutput& output : result.outputs) {
    EXPECT_LE(output.error, output.tolerance) << output.name;
    RecordProperty(output.name, std::to_string(output.error));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SystemGolden,
                         ::testing::Values("solarwm_camera_a", "solarwm_forward_a",
                                           "solarwm_stream_a", "solarwm_sample_a",
                                           "solarwm_sample16_a", "solarwm_window_a",
                                           "solarwm_flowmap_a", "astronex_camera_a",
                                           "astronex_retrieval_a", "astronex_forward_a",
                                           "astronex_stream_a", "astronex_stream_window_a",
                                           "astronex_action_a", "astronex_sampler_a",
                                           "astronex_chroma_a", "mg35_camera_a", "mg35_forward_a",
                                           "mg35_subject_a", "mg35_stream_a", "mg35_memory_a"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace loci::eval
