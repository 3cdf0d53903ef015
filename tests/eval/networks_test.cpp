// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/networks/networks.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/eval/metrics/masked_error.h"
#include "loci/io/tensors/safetensors.h"

#include "../model/formula_weights.h"

namespace loci::eval {
namespace {

namespace fs = std::filesystem;
using model::formula_lpips;
using model::formula_noise;
using model::formula_weight;

Json expected() { return load_json(fs::path(LOCI_TEST_DATA) / "eval" / "networks.json"); }

TEST(MaskedError, IgnoresPixelsOutsideTheMask) {
  const Lpips lpips = formula_lpips(LpipsNet::kAlex);
  const at::Tensor a =
      (formula_noise({1, 40, 52, 3}, 1, 1) * 255 + 128).clamp(0, 255).to(at::kByte);
  at::Tensor b = a.clone();
  b.narrow(2, 0, 10).fill_(0);
  at::Tensor left = at::zeros({40, 52}, at::kBool), right = left.clone();
  left.narrow(1, 0, 10).fill_(true);
  right.narrow(1, 26, 26).fill_(true);
  const MaskedError all = masked_error(a, b, at::ones({40, 52}, at::kBool), &lpips);
  EXPECT_EQ(all.region, 1);
  EXPECT_NEAR(all.lpips, lpips.distance_map(a, b).mean().item<double>(), 1e-6);
  const MaskedError there = masked_error(a, b, left, &lpips);
  EXPECT_NEAR(there.region, 10. / 52, 1e-12);
  // Ten of 52 columns contain the whole error.
  EXPECT_NEAR(there.psnr, all.psnr + 10 * std::log10(10. / 52), 1e-9);
  EXPECT_GT(there.lpips, all.lpips);
  const MaskedError elsewhere = masked_error(a, b, right, nullptr);
  EXPECT_EQ(elsewhere.psnr, 120);
  EXPECT_TRUE(std::isnan(elsewhere.lpips));
  EXPECT_TRUE(std::isnan(masked_error(a, b, at::zeros({40, 52}, at::kBool), &lpips).psnr));
  EXPECT_THROW(masked_error(a, b, left.narrow(0, 0, 39), nullptr), Error);
}

TEST(Lpips, MatchesTheOriginal) {
  const Json values = expected()["lpips"];
  const at::Tensor a = formula_noise({2, 40, 52, 3}, 1, 1) + 0.5;
  const at::Tensor b = (a + formula_noise({2, 40, 52, 3}, 2, 0.3)).clamp(0, 1);
  for (const auto& [net, name] :
       {std::pair{LpipsNet::kAlex, "alex"}, std::pair{LpipsNet::kVgg, "vgg"}}) {
    const Lpips lpips = formula_lpips(net);
    const std::vector<double> distances = lpips.distance(a, b);
    ASSERT_EQ(distances.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      const double wanted = values[name][i];
      EXPECT_NEAR(distances[i], wanted, 1e-5 * wanted) << name;
    }
    EXPECT_EQ(lpips.distance(a, a)[0], 0);
    const at::Tensor map = lpips.distance_map(a, b);
    EXPECT_EQ(map.sizes(), at::IntArrayRef({2, 40, 52}));
    EXPECT_NEAR(map[0].mean().item<double>(), distances[0], 0.2 * distances[0]);
    EXPECT_THROW(lpips.distance(a, b.narrow(1, 0, 39)), Error);
    EXPECT_THROW(lpips.distance(a.narrow(1, 0, 20), a.narrow(1, 0, 20)), Error);
  }
  EXPECT_THROW(Lpips(
                   LpipsNet::kAlex, [](const std::string&) { return at::zeros({1}); }, "zeros"),
               Error);
}

std::map<std::string, at::Tensor> dino_weights(int64_t registers) {
  std::map<std::string, at::Tensor> w;
  const auto add = [&](const std::string& name, at::IntArrayRef shape) {
    w[name] = formula_weight(name, shape);
  };
  add("cls_token", {1, 1, 128});
  add("pos_embed", {1, 26, 128});
  add("mask_token", {1, 128});
  if (registers > 0) add("register_tokens", {1, registers, 128});
  add("patch_embed.proj.weight", {128, 3, 14, 14});
  add("patch_embed.proj.bias", {128});
  for (const std::string n : {"0", "1"}) {
    const std::string block = "blocks." + n + ".";
    for (const std::string one : {"norm1", "norm2"}) {
      add(block + one + ".weight", {128});
      add(block + one + ".bias", {128});
    }
    add(block + "attn.qkv.weight", {384, 128});
    add(block + "attn.qkv.bias", {384});
    add(block + "attn.proj.weight", {128, 128});
    add(block + "attn.proj.bias", {128});
    add(block + "ls1.gamma", {128});
    add(block + "mlp.fc1.weight", {512, 128});
    add(block + "mlp.fc1.bias", {512});
    add(block + "mlp.fc2.weight", {128, 512});
    add(block + "mlp.fc2.bias", {128});
    add(block + "ls2.gamma", {128});
  }
  add("norm.weight", {128});
  add("norm.bias", {128});
  return w;
}

void expect_probe(const at::Tensor& tokens, const Json& wanted) {
  const at::Tensor flat = tokens.flatten().to(at::kDouble);
  const at::Tensor weights = at::cos(at::arange(flat.numel(), at::kDouble));
  EXPECT_NEAR((flat * weights).sum().item<double>(), wanted[0].get<double>(), 1e-3);
  EXPECT_NEAR(flat.square().sum().item<double>() / wanted[1].get<double>(), 1, 1e-6);
  EXPECT_NEAR(flat[0].item<double>(), wanted[2].get<double>(), 1e-5);
}

TEST(VisionTower, MatchesTheOriginalDino) {
  const Json cases = expected()["dino"];
  for (const auto& [name, registers] : {std::pair{"plain", 0}, std::pair{"registers", 2}}) {
    const VisionTower tower(TowerKind::kDino, dino_weights(registers), "formula");
    expect_probe(tower.tokens(formula_noise({2, 3, 70, 70}, 5, 2)), cases[name]["70x70"]);
    expect_probe(tower.tokens(formula_noise({2, 3, 42, 84}, 5, 2)), cases[name]["42x84"]);
    EXPECT_THROW(tower.tokens(formula_noise({1, 3, 42, 80}, 5, 2)), Error);
  }
}

TEST(VisionTower, ReadsHuggingFaceNames) {
  const std::map<std::string, at::Tensor> original = dino_weights(0);
  std::map<std::string, at::Tensor> renamed = {
      {"embeddings.cls_token", original.at("cls_token")},
      {"embeddings.position_embeddings", original.at("pos_embed")},
      {"embeddings.patch_embeddings.projection.weight", original.at("patch_embed.proj.weight")},
      {"embeddings.patch_embeddings.projection.bias", original.at("patch_embed.proj.bias")},
      {"layernorm.weight", original.at("norm.weight")},
      {"layernorm.bias", original.at("norm.bias")}};
  for (const std::string n : {"0", "1"}) {
    const std::string from = "blocks." + n + ".", to = "encoder.layer." + n + ".";
    for (const std::string part : {".weight", ".bias"}) {
      const at::Tensor qkv = original.at(from + "attn.qkv" + part);
      int64_t at = 0;
      for (const char* which : {"query", "key", "value"}) {
        renamed[to + "attention.attention." + which + part] = qkv.narrow(0, at, 128);
        at += 128;
      }
      renamed[to + "attention.output.dense" + part] = original.at(from + "attn.proj" + part);
      for (const char* same : {"norm1", "norm2", "mlp.fc1", "mlp.fc2"}) {
        renamed[to + same + part] = original.at(from + same + part);
      }
    }
    renamed[to + "layer_scale1.lambda1"] = original.at(from + "ls1.gamma");
    renamed[to + "layer_scale2.lambda1"] = original.at(from + "ls2.gamma");
  }
  const VisionTower tower(TowerKind::kDino, renamed, "renamed");
  expect_probe(tower.tokens(formula_noise({2, 3, 70, 70}, 5, 2)),
               expected()["dino"]["plain"]["70x70"]);
  const VisionTower::Features features = tower(at::full({2, 32, 48, 3}, 90, at::kByte));
  EXPECT_EQ(features.patches.sizes(), at::IntArrayRef({2, 21, 37, 128})) << "for every shape";
  EXPECT_NEAR(features.global[1].square().sum().item<double>(), 1, 1e-5);
  renamed.erase("encoder.layer.1.norm2.bias");
  EXPECT_THROW(VisionTower(TowerKind::kDino, renamed, "renamed"), Error);
}

TEST(VisionTower, MatchesTheOriginalClip) {
  std::map<std::string, at::Tensor> w;
  const auto add = [&](const std::string& name, at::IntArrayRef shape) {
    w["visual." + name] = formula_weight("visual." + name, shape);
  };
  add("class_embedding", {128});
  add("positional_embedding", {17, 128});
  add("conv1.weight", {128, 3, 16, 16});
  add("proj", {128, 32});
  for (const std::string n :
       {"ln_pre", "ln_post", "transformer.resblocks.0.ln_1", "transformer.resblocks.0.ln_2",
        "transformer.resblocks.1.ln_1", "transformer.resblocks.1.ln_2"}) {
    add(n + ".weight", {128});
    add(n + ".bias", {128});
  }
  for (const std::string n : {"transformer.resblocks.0.", "transformer.resblocks.1."}) {
    add(n + "attn.in_proj_weight", {384, 128});
    add(n + "attn.in_proj_bias", {384});
    add(n + "attn.out_proj.weight", {128, 128});
    add(n + "attn.out_proj.bias", {128});
    add(n + "mlp.c_fc.weight", {512, 128});
    add(n + "mlp.c_fc.bias", {512});
    add(n + "mlp.c_proj.weight", {128, 512});
    add(n + "mlp.c_proj.bias", {128});
  }
  const VisionTower tower(TowerKind::kClip, w, "formula");
  expect_probe(tower.project(tower.tokens(formula_noise({2, 3, 64, 64}, 6, 2))),
               expected()["clip"]);
  const VisionTower::Features features = tower(at::zeros({1, 30, 50, 3}, at::kByte));
  EXPECT_EQ(features.global.sizes(), at::IntArrayRef({1, 32}));
  EXPECT_FALSE(features.patches.defined());
}

// The original CLIP is a TorchScript program in half precision; tests/data/eval/make_clip_script.py
// creates a small one.
TEST(Clip, IsReadFromTheOriginalFile) {
  const fs::path folder = fs::path(LOCI_TEST_DATA) / "eval" / "clip";
  const Networks networks = Networks::load(folder);
  ASSERT_TRUE(networks.clip.has_value());
  const at::Tensor i = at::arange(3 * 16 * 16);
  const at::Tensor image = ((i * 5).remainder(31) - 15).to(at::kFloat).div(15).view({1, 3, 16, 16});
  const at::Tensor made = networks.clip->project(networks.clip->tokens(image))[0];
  const Json wanted = load_json(folder / "expected.json")["image"];
  ASSERT_EQ(made.numel(), static_cast<int64_t>(wanted.size()));
  for (size_t k = 0; k < wanted.size(); ++k) {
    EXPECT_NEAR(made[static_cast<int64_t>(k)].item<double>(), wanted[k].get<double>(), 1e-5) << k;
  }
}

std::vector<double> worst_patches(const at::Tensor& a, const at::Tensor& b, double share) {
  const at::Tensor errors = patch_errors(a, b);
  return mean_error(errors, worst_region(errors, share));
}

TEST(WorstPatches, AllowOnePatchOfDisplacement) {
  // Orthogonal features: all patches differ.
  const at::Tensor a = at::eye(20, at::kFloat).view({1, 4, 5, 20});
  EXPECT_NEAR(worst_patches(a, a, 0.05)[0], 0, 1e-6);
  EXPECT_NEAR(worst_patches(a, a.roll({0, 1}, {1, 2}), 0.1)[0], 1, 1e-6) << "wrapped around";
  EXPECT_NEAR(worst_patches(a, a.roll(1, 2), 1)[0], 4. / 20, 1e-6)
      << "only one column is more than one patch away";
  EXPECT_NEAR(worst_patches(a, a.roll(2, 2), 1)[0], 1, 1e-6);
  EXPECT_NEAR(
      worst_patches(a.narrow(1, 0, 1).narrow(2, 0, 1), -a.narrow(1, 0, 1).narrow(2, 0, 1), 0.05)[0],
      2, 1e-6);
  EXPECT_THROW(worst_patches(a, a.narrow(2, 0, 4), 0.1), Error);
}

TEST(Networks, AreLoadedFromAFolder) {
  const fs::path folder =
      fs::path(::testing::TempDir()) / ("loci_networks_test_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  EXPECT_FALSE(Networks::load("").alex.has_value());
  EXPECT_THROW(Networks::load(folder), Error) << "empty folder";
  EXPECT_THROW(Networks::load(folder / "absent"), Error);
  io::NamedTensors tensors;
  for (const auto& [name, tensor] : dino_weights(0)) tensors.emplace_back(name, tensor);
  io::write_safetensors(folder / "DINOv2_tiny.safetensors", tensors);
  const Networks networks = Networks::load(folder);
  EXPECT_TRUE(networks.dino.has_value());
  EXPECT_EQ(networks.describe()["clip"], false);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace loci::eval
