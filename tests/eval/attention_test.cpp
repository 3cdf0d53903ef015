// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/camera/lens.h"
#include "loci/camera/path/resample.h"
#include "loci/eval/analysis/attention_suite.h"
#include "loci/eval/suites/runner.h"

#include "tests/eval/tiny_recording.h"
#include "tests/model/tiny_model.h"

namespace loci::eval {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(AttentionShare, UniformAttentionIsNotEnriched) {
  at::manual_seed(1);
  const at::Tensor keys = at::randn({12, 2, 8}), own = at::randn({4, 2, 8});
  const at::Tensor covisible = at::rand({3, 12}).lt(0.4);
  const AttentionShare even = attention_share(at::zeros({3, 2, 8}), keys, own, covisible);
  EXPECT_EQ(even.queries, 3);
  EXPECT_NEAR(even.mass, 12.0 / 16, 1e-6);
  EXPECT_NEAR(even.share, even.fraction, 1e-6);
  EXPECT_NEAR(even.enrichment(), 1, 1e-6);
  EXPECT_NEAR(even.fraction, covisible.to(at::kDouble).mean().item<double>(), 1e-12);
}

TEST(AttentionShare, IsOneIfAllAttentionGoesToCovisibleKeys) {
  at::Tensor keys = at::zeros({10, 1, 4});
  keys[3][0][0] = keys[7][0][0] = 1000;
  at::Tensor covisible = at::zeros({2, 10}, at::kBool);
  covisible.select(1, 3).fill_(true);
  covisible.select(1, 7).fill_(true);
  at::Tensor query = at::zeros({2, 1, 4});
  query.select(2, 0).fill_(1);
  const at::Tensor own = at::zeros({5, 1, 4});
  const AttentionShare share = attention_share(query, keys, own, covisible);
  EXPECT_NEAR(share.share, 1, 1e-6);
  EXPECT_NEAR(share.mass, 1, 1e-6);
  EXPECT_NEAR(share.enrichment(), 5, 1e-5) << "two of ten keys";
  EXPECT_NEAR(attention_share(query, keys, own, covisible.logical_not()).share, 0, 1e-6);
  // All attention goes to the chunk itself: such queries are excluded.
  const AttentionShare none =
      attention_share(query, at::zeros({10, 1, 4}), query.narrow(0, 0, 1) * 1e6, covisible);
  EXPECT_EQ(none.queries, 0);
  EXPECT_EQ(none.excluded, 2);
  EXPECT_TRUE(std::isnan(none.enrichment()));
  EXPECT_EQ(attention_share(query, keys.narrow(0, 0, 0), own, covisible.narrow(1, 0, 0)).excluded,
            2);
}

// Head one: attention of 0.8 to the history, uniform. Head two: 0.2, only to the co-visible key.
TEST(AttentionShare, AveragesHeadsBeforeComputingTheShare) {
  const double scale = 1;  // D = 1
  at::Tensor query = at::ones({1, 2, 1}), past = at::zeros({2, 2, 1}), own = at::zeros({1, 2, 1});
  past[0][0][0] = past[1][0][0] = std::log(0.4) / scale;
  own[0][0][0] = std::log(0.2) / scale;
  past[0][1][0] = std::log(0.2) / scale;
  past[1][1][0] = -1e6;
  own[0][1][0] = std::log(0.8) / scale;
  at::Tensor covisible = at::zeros({1, 2}, at::kBool);
  covisible[0][0] = true;
  const AttentionShare share = attention_share(query, past, own, covisible);
  EXPECT_NEAR(share.mass, 0.5, 1e-6);
  EXPECT_NEAR(share.share, (0.4 + 0.2) / (0.8 + 0.2), 1e-6);
  EXPECT_NEAR(share.enrichment(), 1.2, 1e-5);
}

// 48x32 pixels in 3x2 tokens; a plane at a distance of 4 m, with depth along the rays.
DepthFrame wall(const camera::Pose& pose, double far = 4) {
  const camera::Lens lens = camera::lens_from_fov(camera::radians(75));
  at::Tensor depth = at::empty({32, 48}, at::kFloat);
  for (int64_t row = 0; row < 32; ++row) {
    for (int64_t column = 0; column < 48; ++column) {
      const camera::Vec3 ray = camera::token_ray({64, 96}, 2 * row + 1, 2 * column + 1, lens);
      depth[row][column] = (far - pose.position.z) / ray.z;
    }
  }
  return {{pose, lens}, depth};
}

at::Tensor identity_tokens() { return at::eye(6, at::kBool); }

TEST(Covisibility, FollowsTheSurface) {
  const camera::TokenGrid grid{2, 3};
  const DepthFrame here = wall({});
  EXPECT_TRUE(at::equal(covisible_tokens(here, std::vector{here}, grid), identity_tokens()));
  // Two past frames.
  EXPECT_TRUE(at::equal(covisible_tokens(here, std::vector{here, here}, grid),
                        at::cat({identity_tokens(), identity_tokens()}, 1)));
  // A token is 4 m * 2 tan(37.5°) / 3 wide. Seen from that far to the right, everything moves one
  // token to the left, and the leftmost column leaves the picture.
  camera::Pose right;
  right.position.x = 4 * 2 * std::tan(camera::radians(37.5)) / 3;
  const at::Tensor moved = covisible_tokens(here, std::vector{wall(right)}, grid);
  for (int64_t row = 0; row < 2; ++row) {
    for (int64_t column = 0; column < 3; ++column) {
      at::Tensor wanted = at::zeros({6}, at::kBool);
      if (column > 0) wanted[row * 3 + column - 1] = true;
      EXPECT_TRUE(at::equal(moved[row * 3 + column], wanted)) << row << " " << column;
    }
  }
  // Nothing is co-visible when looking back, behind an occluder, or at the sky.
  camera::Pose back;
  back.rotation = camera::rotation_from_angles(std::numbers::pi, 0);
  DepthFrame behind = here;
  behind.camera.pose = back;
  EXPECT_FALSE(covisible_tokens(here, std::vector{behind}, grid).any().item<bool>());
  EXPECT_FALSE(covisible_tokens(here, std::vector{wall({}, 2)}, grid).any().item<bool>());
  DepthFrame sky = here;
  sky.depth = at::full({32, 48}, std::numeric_limits<float>::infinity());
  EXPECT_FALSE(covisible_tokens(sky, std::vector{sky}, grid).any().item<bool>());
  EXPECT_FALSE(covisible_tokens(sky, std::vector{here}, grid).any().item<bool>());
  EXPECT_EQ(covisible_tokens(here, {}, grid).sizes(), at::IntArrayRef({6, 0}));

  EXPECT_TRUE(seen_before(here, std::vector{behind, here}).all().item<bool>());
  EXPECT_FALSE(seen_before(here, std::vector{behind}).any().item<bool>());
  EXPECT_FALSE(seen_before(here, {}).any().item<bool>());
  const at::Tensor part = seen_before(here, std::vector{wall(right)});
  EXPECT_FALSE(part.narrow(1, 0, 15).any().item<bool>());
  EXPECT_TRUE(part.narrow(1, 17, 31).all().item<bool>());
}

TEST(Covisibility, UsesRaysWithoutDepth) {
  const camera::TokenGrid grid{2, 3};
  DepthFrame here = wall({});
  here.depth.reset();
  EXPECT_TRUE(at::equal(covisible_tokens(here, std::vector{here}, grid), identity_tokens()));
  // One frame without depth causes the fallback.
  EXPECT_TRUE(at::equal(covisible_tokens(here, std::vector{wall({}, 2)}, grid), identity_tokens()));
  DepthFrame back = here;
  back.camera.pose.rotation = camera::rotation_from_angles(std::numbers::pi, 0);
  EXPECT_FALSE(covisible_tokens(here, std::vector{back}, grid).any().item<bool>());
  // Seen from the side, a ray covers several tokens.
  DepthFrame side = here;
  side.camera.pose.position.x = 2;
  EXPECT_GT(covisible_tokens(here, std::vector{side}, grid)[2].sum().item<int64_t>(), 1);
}

model::TransformerConfig three_layers(bool hybrid) {
  model::TransformerConfig config = testing::tiny_config();
  config.layers = 3;
  config.hybrid_layers = hybrid ? std::vector<int64_t>{1} : std::vector<int64_t>{};
  if (!hybrid) config.recurrent_memory = "none";
  return config;
}

class Attention : public ::testing::Test {
 protected:
  Attention() {
    testing::make_tiny_folder(path("hybrid"), 1, three_layers(true));
    testing::make_tiny_folder(path("softmax"), 2, three_layers(false));
    make_tiny_recording(path("data/a"), 177, 1);
    make_tiny_recording(path("data/b"), 169, 2);
    add_depth("a", 177);
  }
  ~Attention() override { fs::remove_all(folder_); }
  fs::path path(const std::string& name) const { return folder_ / name; }
  // The camera is at the centre of a sphere.
  void add_depth(const std::string& clip, int64_t frames) const {
    io::write_npy(path("data/" + clip + "/depth.npy"),
                  at::full({frames, kTinyHeight, kTinyWidth}, 5, at::kHalf));
  }
  AttentionSetup setup() const {
    AttentionSetup setup;
    setup.models = parse_models({path("hybrid").string(), path("softmax").string()});
    setup.arms = {{"dense", "dense"}};
    setup.data = path("data");
    setup.out = path("out");
    setup.sampling.cache = path("cache");
    setup.clips.context_seconds = 9;
    return setup;
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("loci_attention_test_" + std::to_string(::getpid()));
};

TEST_F(Attention, ReplayMeasuresTheVisibleHistory) {
  const at::NoGradGuard no_grad;
  const sample::ModelFolder folder(path("hybrid"));
  const ClipFormat format = common_format(setup().models, {});
  const auto clips = open_recordings(path("data"), format, {});
  const std::vector<camera::Camera> cameras =
      camera::latent_cameras(clips->clip(0).trajectory.cameras, format.grid);
  const at::Tensor depth = clips->depth(0);
  ASSERT_EQ(depth.sizes(), at::IntArrayRef({45, kTinyHeight, kTinyWidth}));
  EXPECT_FALSE(clips->depth(1).defined());
  // The camera does not move and turns 9 degrees to the right per latent frame.
  std::vector<DepthFrame> views;
  for (size_t i = 0; i < 9; ++i) {
    views.push_back({cameras[i], depth[static_cast<int64_t>(i)]});
  }
  at::manual_seed(3);
  const at::Tensor latents = at::randn({1, 3, 9, 4, 6});
  const camera::TokenGrid grid = folder.config().grid(4, 6);
  ASSERT_EQ(grid.tokens(), 6);
  ReplayOptions options;
  options.readouts = {model::Readout::kOn, model::Readout::kOff, model::Readout::kRandom};
  const auto run = [&](const std::string& history, int64_t budget) {
    sample::Stream stream(
        folder.transformer(), nullptr,
        stream_options(folder, {"x", history, budget}, {}, kTinyWidth, kTinyHeight),
        folder.prompt("", ""));
    return replay_attention(stream, latents, views, std::vector<int64_t>{0, 3, 4, 8}, grid,
                            options);
  };
  const std::vector<LayerShares> shares = run("dense", 29);
  ASSERT_EQ(shares.size(), 3u);
  for (const LayerShares& one : shares) {
    ASSERT_EQ(one.size(), 2u) << "layers 0 and 2; layer 1 is hybrid";
    for (const auto& [layer, list] : one) {
      ASSERT_EQ(list.size(), 4u) << layer;
      EXPECT_EQ(list[0].excluded, 6) << "frame 0 has no history";
      for (size_t i = 1; i < 4; ++i) {
        EXPECT_EQ(list[i].queries, 6);
        EXPECT_GT(list[i].mass, 0);
        EXPECT_LT(list[i].mass, 1);
        EXPECT_GT(list[i].share, 0);
        EXPECT_LT(list[i].share, 1);
        EXPECT_GT(list[i].fraction, 0);
      }
    }
  }
  // The readout affects the layer after the hybrid one, not the layer before it.
  for (size_t r = 1; r < 3; ++r) {
    EXPECT_EQ(shares[r].at(0)[3].share, shares[0].at(0)[3].share);
    EXPECT_NE(shares[r].at(2)[3].share, shares[0].at(2)[3].share);
  }
  EXPECT_NE(shares[1].at(2)[3].share, shares[2].at(2)[3].share);
  // Latent frame 8 attends to the seven frames before its chunk; with a budget of two, to the first
  // and the newest of them.
  const auto fraction = [&](std::initializer_list<size_t> past) {
    std::vector<DepthFrame> list;
    for (const size_t i : past) list.push_back(views[i]);
    return covisible_tokens(views[8], list, grid).to(at::kDouble).mean().item<double>();
  };
  EXPECT_NEAR(shares[0].at(0)[3].fraction, fraction({0, 1, 2, 3, 4, 5, 6}), 1e-9);
  EXPECT_NEAR(run("sparse", 2)[0].at(0)[3].fraction, fraction({0, 6}), 1e-9);
  EXPECT_EQ(run("sparse", 0)[0].at(0)[3].excluded, 6) << "no history at all";
  // Results are reproducible.
  EXPECT_EQ(run("dense", 29)[2].at(2)[3].share, shares[2].at(2)[3].share);
}

TEST_F(Attention, SuiteComparesModelsAndReadouts) {
  AttentionSuite suite(setup());
  EXPECT_THAT(variants_of(suite),
              ElementsAre("hybrid", "hybrid, readout off", "hybrid, random readout", "softmax"));
  EXPECT_EQ(suite.pairs().size(), 3u);
  EXPECT_EQ(run_suite(suite, {path("out")}), 0);
  const std::vector<PartResult> parts = read_parts(suite, path("out"));
  ASSERT_EQ(parts.size(), 4u);
  const size_t instants =
      open_recordings(path("data"), common_format(setup().models, {}), setup().clips)
          ->clip(0)
          .revisits.size();
  ASSERT_GT(instants, 3u);
  const MetricValues& on = parts[0].values.at("hybrid");
  const MetricValues& off = parts[0].values.at("hybrid, readout off");
  for (const char* key : {"share", "enrichment", "enrichment_after", "masked_psnr", "region"}) {
    ASSERT_EQ(on.at(key).size(), instants) << key;
  }
  EXPECT_FALSE(on.contains("share_proxy"));
  EXPECT_FALSE(off.contains("masked_psnr")) << "no rollout with the readout off";
  // Inside a sphere, a revisit shows almost only surfaces that were seen before.
  EXPECT_GT(on.at("region").back(), 90);
  EXPECT_NE(on.at("enrichment_after"), off.at("enrichment_after"));
  EXPECT_EQ(on.at("enrichment_after"), on.at("enrichment_downstream")) << "one layer is both";
  EXPECT_EQ(on.at("fraction"), off.at("fraction"));
  const Curve& curve = parts[0].curves.at("hybrid").at(0);
  EXPECT_THAT(curve.points, ElementsAre(::testing::Pair(0.0, ::testing::Gt(0.0)),
                                        ::testing::Pair(2.0, ::testing::Gt(0.0))));
  EXPECT_EQ(parts[2].curves.at("softmax").at(0).points.size(), 3u)
      << "softmax attends to its history in all layers";
  ASSERT_EQ(parts[0].pictures.size(), 1u);
  EXPECT_EQ(parts[0].pictures[0].cells.size(), 3u);
  // Recordings without depth have separate metrics.
  const MetricValues& rays = parts[1].values.at("hybrid");
  EXPECT_TRUE(rays.contains("enrichment_proxy"));
  EXPECT_FALSE(rays.contains("enrichment"));
  EXPECT_FALSE(rays.contains("masked_psnr"));

  const Json results = load_json(path("out/results.json"));
  const size_t thirds = results["values"]["a"]["hybrid"]["masked_psnr_low"].size() +
                        results["values"]["a"]["hybrid"]["masked_psnr_mid"].size() +
                        results["values"]["a"]["hybrid"]["masked_psnr_high"].size();
  EXPECT_EQ(thirds, instants);
  const std::string html = read_file(path("out/report.html"));
  for (const char* text :
       {"hybrid − softmax", "hybrid − hybrid, readout off", "enrichment by layer",
        "LPIPS (AlexNet); scripts/fetch_lpips.py", "1 of 2 recordings have no depth"}) {
    EXPECT_THAT(html, HasSubstr(text));
  }
}

TEST_F(Attention, RejectsUnusableInputs) {
  AttentionSetup s = setup();
  s.clips.seconds = 0.5;
  s.clips.context_seconds = 0;
  EXPECT_THROW(AttentionSuite{s}, Error) << "no revisits";
  s = setup();
  testing::make_tiny_folder(path("two"), 1);
  s.models = parse_models({path("hybrid").string(), path("two").string()});
  EXPECT_THROW(AttentionSuite{s}, Error) << "different numbers of layers";
  io::write_npy(path("data/a/depth.npy"), at::zeros({3, 8, 8}, at::kHalf));
  s = setup();
  s.rollouts = false;
  AttentionSuite suite(s);
  EXPECT_EQ(run_suite(suite, {path("short")}), 0);
  const Json failed = load_json(path("short/results.json"))["failed"];
  ASSERT_FALSE(failed.empty());
  EXPECT_EQ(failed[0]["clip"], "a") << "depth for three frames only";
}

}  // namespace
}  // namespace loci::eval
