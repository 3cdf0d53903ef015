// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>

#include <gmock/gmock.h>

#include "loci/base/config.h"

#include "run_command.h"

namespace loci::app {
namespace {

using ::testing::HasSubstr;

Outcome bench(std::vector<std::string> more) {
  std::vector<std::string> all = {"-q", "--threads", "1", "bench", "block", "--repeats", "1"};
  all.insert(all.end(), more.begin(), more.end());
  return run_command(all);
}

TEST(BenchBlock, MeasuresBothBlocksWithBothHistories) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) /
                                     fmt::format("loci_bench_block_{}.json", ::getpid());
  const Outcome outcome = bench({"--json", "--out", file.string(), "--seconds", "20"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json, load_json(file));
  std::filesystem::remove(file);
  EXPECT_EQ(json.at("preset"), "mini");
  EXPECT_EQ(json.at("tokens"), 480);
  ASSERT_EQ(json.at("rows").size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const Json& row = json.at("rows")[i];
    EXPECT_EQ(row.at("block"), i % 2 == 0 ? "softmax" : "hybrid");
    EXPECT_EQ(row.at("history"), i < 2 ? "sparse" : "dense");
    // 20 s are 16 chunks. They attend to 1, 6, …, 76 frames, on average 38.
    EXPECT_EQ(row.at("past_frames"), i < 2 ? 29 : 38);
    EXPECT_EQ(row.at("keys"), i < 2 ? 34 * 96 : 43 * 96);
    EXPECT_GT(row.at("flops"), 0);
    EXPECT_GT(row.at("linear_flop"), 0);
    EXPECT_GT(row.at("attention_flop"), 0);
    EXPECT_EQ(row.at("recurrent_flop") > 0, i % 2 == 1);
    EXPECT_FALSE(row.contains("ratio"));
  }
  // Half of the demo model's blocks are hybrid.
  const double softmax = json.at("rows")[0].at("processor_seconds");
  const double hybrid = json.at("rows")[1].at("processor_seconds");
  const Json& sparse = json.at("forward").at("sparse");
  EXPECT_NEAR(sparse.at("loci_processor_seconds"), 4 * (softmax + hybrid), 1e-9);
  EXPECT_NEAR(sparse.at("softmax_processor_seconds"), 8 * softmax, 1e-9);
  EXPECT_GT(json.at("forward").at("sparse_by_dense"), 0);
}

TEST(BenchBlock, PrintsATable) {
  const Outcome outcome = bench(
      {"--history", "sparse", "--dtype", "bf16", "--commit", "--width", "32", "--height", "48"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("mini, 30 tokens per chunk, bf16"));
  EXPECT_THAT(outcome.out, HasSubstr("softmax  sparse, 29 frames"));
  EXPECT_THAT(outcome.out, HasSubstr("all 8 blocks"));
  EXPECT_EQ(outcome.out.find("dense"), std::string::npos);
}

TEST(BenchBlock, RunsAWholeModel) {
  const Outcome outcome =
      bench({"--whole", "--history", "sparse", "--dtype", "bf16", "--kv", "int8", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json whole = Json::parse(outcome.out).at("whole");
  EXPECT_EQ(whole.at("weight_bytes"), 2 * whole.at("parameters").get<int64_t>());
  // Two heads in four blocks and one camera head in eight; one byte per value and four per row.
  EXPECT_EQ(whole.at("history_bytes"), 34 * 96 * (4 * 2 + 8 * 1) * 2 * (128 + 4));
  EXPECT_GT(whole.at("peak_resident_bytes"), whole.at("weight_bytes"));
  EXPECT_GT(whole.at("processor_seconds"), 0);
}

TEST(BenchBlock, RunsAQuantizedModelInFewerBytes) {
  const auto whole = [](const std::string& dtype) {
    const Outcome outcome = bench({"--whole", "--history", "sparse", "--dtype", dtype, "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out).at("whole");
  };
  const Json half = whole("bf16"), eight = whole("int8");
  EXPECT_EQ(half.at("parameters"), eight.at("parameters"));
  EXPECT_EQ(half.at("history_bytes"), eight.at("history_bytes"));
  EXPECT_LT(eight.at("weight_bytes").get<int64_t>(),
            half.at("weight_bytes").get<int64_t>() * 7 / 10);
}

TEST(BenchBlock, RejectsUnsupportedOptions) {
  EXPECT_EQ(bench({"--dtype", "int3"}).code, 2);
  EXPECT_EQ(bench({"--preset", "wan500b"}).code, 2);
  EXPECT_EQ(bench({"--history", "window"}).code, 2);
  EXPECT_EQ(bench({"--compare", "jax"}).code, 2);
  const Outcome odd = bench({"--width", "100"});
  EXPECT_EQ(odd.code, 2);
  EXPECT_THAT(odd.err, HasSubstr("100 is not a multiple of 16 pixels"));
  const Outcome both = bench({"--whole", "--compare", "torch"});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, HasSubstr("--whole and --compare cannot be combined"));
  const Outcome absent =
      bench({"--compare", "torch", "--history", "sparse", "--python", "/nowhere"});
  EXPECT_EQ(absent.code, 3);
  EXPECT_THAT(absent.err, HasSubstr("/nowhere does not exist"));
  const Outcome bare = bench({"--compare", "torch", "--history", "sparse", "--python", "/bin/false",
                              "--script", "/bin/false"});
  EXPECT_EQ(bare.code, 3);
  EXPECT_THAT(bare.err, HasSubstr("/bin/false has no torch"));
}

}  // namespace
}  // namespace loci::app
