// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/config.h"
#include "loci/base/file.h"
#include "loci/io/tensors/safetensors.h"

#include "tests/app/run_command.h"

namespace loci::app {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const fs::path kGolden = fs::path(LOCI_TEST_DATA) / "golden";
const fs::path k5B =
    fs::path(LOCI_TEST_DATA).parent_path().parent_path() / "configs" / "wan5b.json";

TEST(Inspect, CountsThe5BModelFromItsConfig) {
  const Outcome outcome = run_command({"inspect", k5B.string()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("4,999,787,712"), HasSubstr("283,645,440"), HasSubstr("90,708,840"),
                    HasSubstr("5,374,141,992"), HasSubstr("SSRSRSRRRRSRSRRSRSSSSSSRRRSRRS")));
}

TEST(Inspect, PrintsTheSizeOfTheHistory) {
  const Outcome outcome =
      run_command({"inspect", k5B.string(), "--json", "--seconds", "40,3600", "--size", "768x512"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json report = parse_json(outcome.out, "inspect");
  EXPECT_EQ(report["parameters"]["total"], 5'374'141'992);
  ASSERT_EQ(report["history"].size(), 8U);
  const uint64_t frame = 384 * 3072 * 2 * 2;  // keys and values of one main layer
  const Json& dense = report["history"][1];
  EXPECT_EQ(dense["mode"], "this model, dense");
  EXPECT_EQ(dense["latents"], 161);
  EXPECT_EQ(dense["main_bytes"], 161 * 15 * frame);
  EXPECT_EQ(dense["camera_bytes"], 161 * 30 * frame / 4);
  EXPECT_EQ(dense["state_bytes"], 15 * 24 * 128 * 128 * 4);
  // After an hour the sparse history has the same size as after 40 seconds.
  EXPECT_EQ(report["history"][7]["latents"], 14401);
  EXPECT_EQ(report["history"][7]["total_bytes"], report["history"][3]["total_bytes"]);
  EXPECT_EQ(report["history"][6]["main_bytes"], 34 * 30 * frame);
  EXPECT_EQ(report["history"][6]["state_bytes"], 0);
}

TEST(Inspect, UsesTheSizeRateAndHistoryOfTheModelFolder) {
  const fs::path mini = fs::path(LOCI_TEST_DATA).parent_path().parent_path() / "models" / "mini";
  const Outcome text = run_command({"inspect", mini.string()});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("History at 192x128 (96 tokens per latent frame, 16 fps)"));
  const Json report = parse_json(
      run_command({"inspect", mini.string(), "--json", "--seconds", "300"}).out, "inspect");
  EXPECT_EQ(report["size"], Json({192, 128}));
  const Json& dense = report["history"][1];
  const Json& sparse = report["history"][3];
  // A chunk of 2 latent frames attends to itself and to the 14 frames of generation.json.
  EXPECT_EQ(sparse["main_bytes"].get<int64_t>() * dense["latents"].get<int64_t>(),
            dense["main_bytes"].get<int64_t>() * 16);
  const Json other = parse_json(
      run_command({"inspect", mini.string(), "--json", "--size", "384x256"}).out, "inspect");
  EXPECT_EQ(other["size"], Json({384, 256}));
}

TEST(Inspect, DescribesWeightsWithAConfig) {
  const Outcome outcome = run_command({"inspect", (kGolden / "weights_a.safetensors").string()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("SRSR"), HasSubstr("release layout"), HasSubstr("BF16"),
                                 Not(HasSubstr("do not fit"))));
  const Outcome json =
      run_command({"inspect", (kGolden / "weights_a.safetensors").string(), "--json", "--tensors"});
  const Json report = parse_json(json.out, "inspect");
  EXPECT_EQ(report["weights"]["layout"], "release");
  EXPECT_TRUE(report["weights"]["missing"].empty());
  EXPECT_GT(report["weights"]["tensors"].size(), 100U);
}

TEST(Inspect, ListsTheTensorsOfOtherFiles) {
  const Outcome outcome = run_command({"inspect", (kGolden / "bank_a.safetensors").string()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("out.frames_pinned"), HasSubstr("I64"), HasSubstr("[80, 29]"),
                    HasSubstr("6 tensors"), HasSubstr("loci.case")));
  const Json report = parse_json(
      run_command({"inspect", (kGolden / "bank_a.safetensors").string(), "--json"}).out, "inspect");
  EXPECT_EQ(report["kind"], "tensors");
  EXPECT_EQ(report["tensors"].size(), 6U);
  EXPECT_EQ(report["metadata"]["loci.case"], "bank");
}

TEST(Inspect, PrintsTheQuantizedTypesOfGgufFiles) {
  const std::string file = (fs::path(LOCI_TEST_DATA) / "io" / "gguf" / "types.gguf").string();
  const Outcome outcome = run_command({"inspect", file});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("Q4_K  [2, 256]"), HasSubstr("18 tensors"),
                    HasSubstr("  Q4_K       1 tensors              512 elements        288 B"),
                    HasSubstr("general.architecture = wan")));
  const Json report = parse_json(run_command({"inspect", file, "--json"}).out, "inspect");
  EXPECT_EQ(report["dtypes"]["Q6_K"], Json({{"tensors", 1}, {"elements", 512}, {"bytes", 420}}));
  const Outcome strange = run_command(
      {"inspect", (fs::path(LOCI_TEST_DATA) / "io" / "gguf" / "unsupported.gguf").string()});
  EXPECT_EQ(strange.code, 2);
  EXPECT_THAT(strange.err, HasSubstr("has the type IQ4_NL, which is not supported"));
}

TEST(Inspect, ReportsWeightsThatDoNotFit) {
  const fs::path folder =
      fs::path(::testing::TempDir()) / fmt::format("loci_inspect_{}", ::getpid());
  fs::create_directories(folder);
  io::write_safetensors(folder / "model.safetensors", {{"blocks.0.attn1.to_q.bias", at::zeros({3})},
                                                       {"patch_embedding.weight", at::zeros({1})}});
  write_file(folder / "config.json", R"({"num_layers": 1, "hybrid_layers": [0]})");
  const Outcome outcome = run_command({"inspect", folder.string()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("do not fit"), HasSubstr("proj_out.weight"),
                                 HasSubstr("blocks.0.attn1.to_q.bias: [3] in the file")));
  fs::remove_all(folder);
}

TEST(Inspect, RejectsBadInput) {
  EXPECT_EQ(run_command({"inspect", "/nowhere/at/all"}).code, 2);
  const Outcome size = run_command({"inspect", k5B.string(), "--size", "100x100"});
  EXPECT_EQ(size.code, 2);
  EXPECT_THAT(size.err, HasSubstr("multiples of 32"));
  EXPECT_EQ(run_command({"inspect"}).code, 2);
}

TEST(Verify, PrintsTheErrorOfEveryOutput) {
  const Outcome outcome = run_command({"verify", (kGolden / "delta_scan_a.safetensors").string(),
                                       (kGolden / "bank_a.safetensors").string()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("delta_scan"), HasSubstr("ok"), HasSubstr("state"),
                                 HasSubstr("frames_pinned"), Not(HasSubstr("FAIL"))));
}

TEST(Verify, FailsAboveTheTolerance) {
  // The same case with one changed value.
  const auto original = io::SafetensorsFile::open(kGolden / "delta_scan_a.safetensors");
  io::NamedTensors tensors;
  for (const io::TensorInfo& info : original.tensors()) {
    tensors.emplace_back(info.name, original.tensor(info.name).clone());
    if (info.name == "out.state") tensors.back().second[0][0][0] += 1;
  }
  const fs::path file =
      fs::path(::testing::TempDir()) / fmt::format("loci_verify_{}.safetensors", ::getpid());
  io::write_safetensors(file, tensors, original.metadata());
  const Outcome text = run_command({"verify", file.string()});
  EXPECT_EQ(text.code, 1);
  EXPECT_THAT(text.out, HasSubstr("FAIL"));
  EXPECT_THAT(text.err, HasSubstr("1 of 1 outputs"));
  const Outcome json = run_command({"verify", file.string(), "--json"});
  EXPECT_EQ(json.code, 1);
  const Json report = parse_json(json.out, "verify");
  EXPECT_EQ(report["passed"], false);
  EXPECT_GT(report["cases"][0]["outputs"][0]["error"], 0.1);
  fs::remove(file);
}

TEST(Verify, RejectsFilesThatAreNotGoldenCases) {
  const Outcome weights = run_command({"verify", (kGolden / "weights_a.safetensors").string()});
  EXPECT_EQ(weights.code, 2);
  EXPECT_THAT(weights.err, HasSubstr("not a golden case"));
  EXPECT_EQ(run_command({"verify", LOCI_TEST_DATA}).code, 2);
}

}  // namespace
}  // namespace loci::app
