// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/analysis/capacity_suite.h"

#include <unistd.h>

#include <array>
#include <filesystem>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/config.h"
#include "loci/base/file.h"
#include "loci/eval/analysis/state_bank.h"
#include "loci/eval/suites/runner.h"
#include "loci/io/media/frames.h"
#include "loci/io/tensors/npy.h"

#include "tests/base/expect_error.h"

namespace loci::eval {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// The camera turns twice and shows a wide panorama of coloured columns: 20 s at 16 frames/s.
constexpr int64_t kWidth = 96, kHeight = 64, kFrames = 321, kTurn = 160;

void write_panorama(const fs::path& folder) {
  fs::create_directories(folder);
  at::manual_seed(5);
  // Smooth colours around the horizon, by yaw.
  const at::Tensor phase = at::arange(720) * (2 * M_PI / 720);
  const at::Tensor colours =
      at::stack({phase.sin(), (2 * phase).cos(), (3 * phase + 1).sin()}, 1) * 100 + 128;
  at::Tensor poses = at::eye(4, at::kDouble).repeat({kFrames, 1, 1});
  std::vector<at::Tensor> frames;
  const at::Tensor across = at::atan((at::arange(kWidth) - kWidth / 2.0) / (kWidth / 2.0));
  for (int64_t i = 0; i < kFrames; ++i) {
    const double yaw = 2 * M_PI * static_cast<double>(i) / kTurn;
    poses[i][0][0] = poses[i][2][2] = std::cos(yaw);
    poses[i][0][2] = std::sin(yaw);
    poses[i][2][0] = -std::sin(yaw);
    const at::Tensor column =
        ((across + yaw) * (720 / (2 * M_PI))).round().remainder(720).to(at::kLong);
    frames.push_back(colours.index_select(0, column).to(at::kByte).expand({kHeight, -1, -1}));
  }
  io::VideoOptions lossless;
  lossless.lossless = true;
  io::write_video(folder / "video.mp4", at::stack(frames).contiguous(), lossless);
  io::write_npy(folder / "poses.npy", poses);
}

TEST(Capacity, RayKeysStoreAPanoramaThatThePapersMapsBlur) {
  const fs::path folder =
      fs::path(::testing::TempDir()) / ("loci_capacity_test_" + std::to_string(::getpid()));
  write_panorama(folder / "data/a");
  CapacitySetup setup;
  setup.data = folder / "data";
  setup.out = folder / "out";
  setup.clips.context_seconds = 10;
  setup.width = kWidth;
  setup.height = kHeight;
  setup.betas = {0.1, 1};
  setup.states = 2;
  setup.encodings = {"mean-colour", "nearest-frame", "least-squares", "chunk_kda", "ray_kda",
                     "values"};
  CapacitySuite suite(setup);
  EXPECT_EQ(run_suite(suite, {folder / "out"}), 0);
  const Json values = load_json(folder / "out/results.json")["values"]["a"];
  const auto mean = [&](const std::string& variant, const char* metric) {
    const auto list = values.at(variant).at(metric).get<std::vector<double>>();
    double sum = 0;
    for (const double value : list) sum += value;
    return sum / static_cast<double>(list.size());
  };
  const double paper = mean("chunk_kda, β 0.1", "psnr_revisit");
  EXPECT_GT(paper, mean("mean-colour", "psnr_revisit") + 0.5);
  EXPECT_GT(mean("ray_kda, β 0.1", "psnr_revisit"), paper + 1);
  EXPECT_GT(mean("values, β 0.1", "psnr_revisit"), paper);
  EXPECT_GT(mean("ray_kda, β 0.1", "psnr_revisit"), mean("ray_kda, β 1", "psnr_revisit"));
  EXPECT_GT(mean("least-squares", "psnr_revisit"), mean("ray_kda, β 0.1", "psnr_revisit"));
  EXPECT_GT(mean("nearest-frame", "psnr_revisit"), 25) << "the second turn repeats the first";
  EXPECT_GT(mean("ray_kda, β 0.1", "directions"), 2 * mean("chunk_kda, β 0.1", "directions"));
  // All returns are ten seconds after the first visit.
  EXPECT_EQ(values["ray_kda, β 1"]["psnr_8_20"], values["ray_kda, β 1"]["psnr_revisit"]);
  EXPECT_THAT(read_file(folder / "out/similarity.svg"), HasSubstr("ray rotary"));
  fs::remove_all(folder);
}

TEST(Capacity, MeasuresTheEncodingOfAConfig) {
  model::TransformerConfig config;
  config.recurrent_memory = "ray_kda";
  config.ray_encoding.direction_bandwidths = {7};
  const StateEncoding own = model_encoding(config, "config.json", 3);
  EXPECT_EQ(own.mapping.ray, config.ray_encoding);
  EXPECT_EQ(own.mapping.heads, 3);
  config.recurrent_memory = "none";
  EXPECT_BAD_INPUT(model_encoding(config, "config.json", 3), HasSubstr("no recurrent memory"));
  CapacitySetup setup;
  setup.encodings = {"ray_kba"};
  EXPECT_BAD_INPUT(CapacitySuite{setup}, HasSubstr("ray_kda"));
}

// A state recalls one association exactly with β = 1, and the fitted weights share it.
TEST(Capacity, AStateRecallsWhatWasWritten) {
  const std::vector<camera::Camera> cameras(1);
  constexpr std::array<int64_t, 1> kStart = {0};
  const camera::FrameGeometry geometry = camera::frame_geometry(cameras, kStart, {1, 1}, 6);
  for (const StateEncoding& encoding : state_encodings(2)) {
    const EncodedTokens tokens = encode_tokens(encoding, key_content(encoding, 2, 1), geometry);
    StateBank bank(encoding, 2, 1, at::zeros({3}));
    const at::Tensor value = at::tensor({1.0F, -2.0F, 3.0F}).unsqueeze(0);
    bank.write(tokens, value);
    bank.add_to_fit(tokens, value);
    bank.fit();
    EXPECT_TRUE(at::allclose(bank.read(tokens), value, 1e-3, 1e-3)) << encoding.name;
  }
}

TEST(Capacity, SimilarityFallsWithTheAngleOnlyForWorldEncodings) {
  const PlotPanel panel = similarity_over_angle();
  ASSERT_EQ(panel.series.size(), 4u);
  const auto at_degrees = [&](size_t series, size_t degrees) {
    const auto& [x, y] = panel.series[series].points.at(degrees / 3);
    EXPECT_EQ(x, static_cast<double>(degrees));
    return y;
  };
  EXPECT_NEAR(at_degrees(0, 90), 0.5, 0.1) << "tiles: (1 + cos) / 2";
  EXPECT_NEAR(at_degrees(1, 90), 1, 0.05) << "the patch is the same";
  for (const size_t series : {2, 3}) EXPECT_LT(std::abs(at_degrees(series, 90)), 0.05);
  EXPECT_GT(at_degrees(2, 15), at_degrees(3, 15) + 0.2) << "a larger bandwidth is narrower";
}

}  // namespace
}  // namespace loci::eval
