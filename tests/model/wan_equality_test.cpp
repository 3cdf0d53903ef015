// SPDX-License-Identifier: Apache-2.0
// A plain Wan2.2 checkpoint gives the output of Wan.
#include <unistd.h>

#include <filesystem>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/io/tensors/safetensors.h"
#include "loci/model/weights/weights.h"

#include "tests/model/tiny_model.h"
#include "tests/model/wan_reference.h"

namespace loci::model {
namespace {

namespace fs = std::filesystem;

// A folder with the config.json and the names of the original release.
class WanFolder {
 public:
  WanFolder(const testing::WanSizes& sizes, const testing::WanWeights& weights)
      : path_(fs::path(::testing::TempDir()) / fmt::format("loci_wan_{}", ::getpid())) {
    fs::create_directories(path_);
    io::NamedTensors tensors;
    for (const auto& [name, tensor] : weights) tensors.emplace_back(name, tensor.to(at::kFloat));
    io::write_safetensors(path_ / "diffusion_pytorch_model.safetensors", tensors);
    const Json config = {{"_class_name", "WanModel"}, {"_diffusers_version", "0.33.0"},
                         {"dim", sizes.width()},      {"eps", 1e-6},
                         {"ffn_dim", sizes.ffn},      {"freq_dim", sizes.freq_dim},
                         {"in_dim", sizes.channels},  {"model_type", "ti2v"},
                         {"num_heads", sizes.heads},  {"num_layers", sizes.layers},
                         {"out_dim", sizes.channels}, {"text_len", sizes.text_len},
                         {"text_dim", sizes.text_dim}};
    write_file(path_ / "config.json", config.dump());
  }
  ~WanFolder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TEST(PlainWan, OneChunkEqualsTheOutputOfWan) {
  const at::NoGradGuard no_grad;
  const testing::WanSizes sizes;
  const testing::WanWeights weights = testing::random_wan_weights(sizes, 5);
  const WanFolder folder(sizes, weights);
  const int64_t frames = 5;
  at::manual_seed(6);
  const at::Tensor latents = at::randn({sizes.channels, frames, 4, 6});
  const at::Tensor timesteps = at::tensor({0.0, 250.0, 250.0, 731.5, 999.0}).to(at::kFloat);
  const at::Tensor text = at::randn({3, sizes.text_dim});
  const at::Tensor expected = testing::wan_velocity(sizes, weights, latents, timesteps, text);

  // Blocks with and without a recurrent memory; every memory, because the readout is off.
  struct Case {
    std::vector<int64_t> hybrid;
    std::string memory;
  };
  for (const Case& c : std::vector<Case>{{{}, "none"}, {{1}, "chunk_kda"}, {{0, 1}, "ssm"}}) {
    const LoadedModel loaded =
        load_model(folder.path(), {.overrides = {{"hybrid_layers", c.hybrid},
                                                 {"recurrent_memory", c.memory},
                                                 {"camera_attn_compress", 2}}});
    EXPECT_EQ(loaded.layout, WeightLayout::kWan);
    EXPECT_TRUE(loaded.new_branches);
    EXPECT_TRUE(loaded.report.clean());

    TransformerConfig five = loaded.transformer.config();
    five.chunk_size = frames - 1;  // a window of five frames
    testing::TinyWindow window = testing::tiny_window(five, 1);
    window.latents = latents.unsqueeze(0);
    window.timesteps = timesteps.unsqueeze(0);
    window.text = text.unsqueeze(0);
    const TextKeys keys = loaded.transformer.text_keys(window.text);
    ForwardContext context;
    context.visible.maps = &window.maps;
    context.visible.text = &keys;
    context.visible.chunks.resize(1);
    context.visible.chunks[0].end = frames;
    context.memory.readout = Readout::kOff;
    const at::Tensor velocity =
        loaded.transformer.forward(window.latents, window.timesteps, context);
    EXPECT_LT(testing::relative_error(velocity[0], expected), 1e-5) << c.memory;
    // The first chunk of a stream reads a zero state, so the readout can stay on.
    ForwardContext fresh = context;
    fresh.memory.states.clear();
    fresh.memory.readout = Readout::kOn;
    EXPECT_LT(testing::relative_error(
                  loaded.transformer.forward(window.latents, window.timesteps, fresh)[0], expected),
              1e-5)
        << c.memory;
  }
}

}  // namespace
}  // namespace loci::model
