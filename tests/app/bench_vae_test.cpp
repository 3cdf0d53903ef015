// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>

#include <gmock/gmock.h>

#include "loci/base/config.h"
#include "loci/base/file.h"

#include "run_command.h"

namespace loci::app {
namespace {

using ::testing::HasSubstr;

class BenchVae : public ::testing::Test {
 protected:
  BenchVae()
      : config_(std::filesystem::path(::testing::TempDir()) /
                fmt::format("loci_bench_{}.json", ::getpid())) {
    write_file(config_, R"({"model": {"base_dim": 4, "z_dim": 4, "num_res_blocks": 1}})");
  }
  ~BenchVae() override { std::filesystem::remove(config_); }

  Outcome bench(std::vector<std::string> more) {
    std::vector<std::string> all = {"-q",      "bench", "vae",      config_.string(),
                                    "--width", "64",    "--height", "48"};
    all.insert(all.end(), more.begin(), more.end());
    return run_command(all);
  }

  std::filesystem::path config_;
};

TEST_F(BenchVae, MeasuresEveryLength) {
  const Outcome outcome = bench({"--latents", "3,1,2", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  ASSERT_EQ(json.at("rows").size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    const Json& row = json.at("rows")[i];
    EXPECT_EQ(row.at("direction"), i < 3 ? "decode" : "encode");
    EXPECT_EQ(row.at("latents"), i % 3 + 1);
    EXPECT_EQ(row.at("frames"), 1 + 4 * (i % 3));
    EXPECT_GT(row.at("state_bytes"), 0);
    EXPECT_GT(row.at("seconds_a_frame"), 0);
    if (i % 3 > 0) {
      EXPECT_GE(row.at("peak_bytes"), json.at("rows")[i - 1].at("peak_bytes"));
    }
  }
  // The state does not grow from the third latent on.
  EXPECT_EQ(json.at("rows")[1].at("state_bytes"), json.at("rows")[2].at("state_bytes"));
}

TEST_F(BenchVae, PrintsATableAndSupportsTiles) {
  const Outcome outcome =
      bench({"--latents", "2", "--direction", "decode", "--tile", "32", "--overlap", "16"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("64x48 pixels, fp32"));
  EXPECT_THAT(outcome.out, HasSubstr("tiles of 32"));
  EXPECT_THAT(outcome.out, HasSubstr("decode          2       5"));
}

TEST_F(BenchVae, CountsTheWorkOfConvolutions) {
  const auto counted = [this](const std::string& latents) {
    const Outcome outcome = run_command({"-q", "--threads", "1", "bench", "vae", config_.string(),
                                         "--width", "64", "--height", "48", "--latents", latents,
                                         "--direction", "decode", "--convolutions", "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out).at("convolutions");
  };
  const Json one = counted("1"), two = counted("2");
  ASSERT_GT(one.size(), 3u);
  // The network begins with 4 channels of 4x3 latents and a kernel of 3x3x3.
  EXPECT_EQ(one[0].at("channels")[0], 4);
  EXPECT_EQ(one[0].at("output"), (Json{3, 4}));
  EXPECT_EQ(one[0].at("pictures"), 3);
  const double weights = 9.0 * 4 * one[0].at("channels")[1].get<double>();
  EXPECT_EQ(one[0].at("operations"), 2 * weights * 12 * 3);
  EXPECT_EQ(two[0].at("operations"), 2 * one[0].at("operations").get<double>());
  double share = 0;
  for (const Json& shape : two) share += shape.at("share_of_time").get<double>();
  EXPECT_GT(share, 0);
  EXPECT_LE(share, 1);
}

TEST_F(BenchVae, RejectsSizesThatDoNotFit) {
  Outcome outcome = bench({"--width", "50"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(bench({"--tile", "40"}).err, HasSubstr("multiple of 16"));
  EXPECT_EQ(bench({"--latents", "0"}).code, 2);
}

}  // namespace
}  // namespace loci::app
