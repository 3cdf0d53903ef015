// SPDX-License-Identifier: Apache-2.0
#include "loci/model/autoencoder/tiny_decoder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/io/tensors/checkpoint.h"
#include "loci/io/tensors/pth.h"
#include "loci/io/tensors/safetensors.h"
#include "loci/model/autoencoder/vae_stream.h"

#include "tests/base/expect_error.h"
#include "tests/model/golden_vae.h"
#include "tests/model/tiny_decoder_file.h"

namespace loci::model {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Weights, latents [1, 48, 4, 2, 1] and frames [1, 3, 13, 32, 16] in [0, 1] of the original module.
struct Original {
  std::filesystem::path file;
  at::Tensor latents, frames;

  explicit Original(const std::string& name) : file(test_data("model/" + name + "_small.pth")) {
    const io::PthFile expected = io::PthFile::open(test_data("model/taehv_expected.pth"));
    latents = expected.tensor(name + ".latents");
    frames = expected.tensor(name + ".frames");
  }
};

VaeConfig config_for(int64_t z_dim) {
  VaeConfig config = VaeConfig::wan22();
  config.base_dim = 2;
  config.decoder_base_dim = 2;
  config.z_dim = z_dim;
  config.latents_mean.assign(static_cast<size_t>(z_dim), 0.3);
  config.latents_std.assign(static_cast<size_t>(z_dim), 2);
  return config;
}

TEST(TinyDecoder, EqualsTheOriginalModule) {
  for (const char* name : {"taew2_2", "taew2_2_super"}) {
    SCOPED_TRACE(name);
    const Original original(name);
    const TinyDecoder decoder = TinyDecoder::load(original.file);
    EXPECT_EQ(decoder.z_dim(), 48);
    EXPECT_EQ(decoder.spatial_factor(), 16);
    EXPECT_EQ(decoder.temporal_factor(), 4);
    const at::Tensor expected = original.frames * 2 - 1;
    VaeCache cache;
    const at::Tensor whole = decoder.decode(original.latents, cache);
    ASSERT_EQ(whole.sizes(), expected.sizes());
    EXPECT_LT(largest_difference(whole, expected), 1e-5);
    EXPECT_EQ(cache.latents(), 4);
    EXPECT_EQ(cache.bytes(), decoder.state_size(2, 1) * sizeof(float));

    VaeCache parts;
    std::vector<at::Tensor> frames;
    for (const int64_t begin : {0, 1, 3}) {
      const int64_t count = begin == 1 ? 2 : 1;
      frames.push_back(decoder.decode(original.latents.narrow(2, begin, count), parts));
      EXPECT_EQ(parts.bytes(), cache.bytes());
    }
    EXPECT_EQ(frames[0].size(2), 1);
    EXPECT_EQ(frames[1].size(2), 8);
    EXPECT_LT(largest_difference(at::cat(frames, 2), expected), 1e-5);
  }
}

TEST(TinyDecoder, ReplacesTheDecoderOfAnAutoencoder) {
  const at::NoGradGuard no_grad;
  const Original original("taew2_2");
  Vae vae(config_for(48));
  const at::Tensor own = VaeDecoder(vae).decode(original.latents);
  vae.use_decoder(std::make_shared<TinyDecoder>(TinyDecoder::load(original.file)));
  VaeDecoder decoder(vae);
  const at::Tensor first = decoder.decode(original.latents.narrow(2, 0, 2));
  // The state continues in a copy and after saving.
  VaeDecoder copy = decoder;
  VaeDecoder saved(vae, VaeCache::restore(decoder.cache().save()));
  const at::Tensor rest = decoder.decode(original.latents.narrow(2, 2, 2));
  EXPECT_TRUE(at::equal(copy.decode(original.latents.narrow(2, 2, 2)), rest));
  EXPECT_TRUE(at::equal(saved.decode(original.latents.narrow(2, 2, 2)), rest));
  const at::Tensor frames = at::cat({first, rest}, 2);
  EXPECT_EQ(frames.sizes(), own.sizes());
  // The latents are not denormalised for it.
  EXPECT_LT(largest_difference(frames, original.frames * 2 - 1), 1e-5);
}

TEST(TinyDecoder, LargeFramesPassOneAtATime) {
  const Original original("taew2_2");
  const TinyDecoder decoder = TinyDecoder::load(original.file);
  // The three levels have 16, 32 and 64 numbers per frame, and the last layer 256.
  for (const int64_t large_frame : {0, 20, 40, 100}) {
    VaeCache cache;
    const at::Tensor frames = decoder.decode(original.latents, cache, large_frame);
    EXPECT_LT(largest_difference(frames, original.frames * 2 - 1), 1e-5) << large_frame;
  }
}

TEST(TinyDecoder, UsesTheLastRowsOfLayersForMoreFrames) {
  const TestFolder folder;
  io::NamedTensors tensors = testing::random_tiny_decoder(3, 1);
  const at::Tensor latents = at::randn({1, 3, 3, 2, 3});
  VaeCache a, b;
  io::write_safetensors(folder / "a.safetensors", tensors);
  const at::Tensor expected = TinyDecoder::load(folder / "a.safetensors").decode(latents, a);
  for (auto& [name, tensor] : tensors) {
    if (name == "decoder.7.conv.weight") tensor = at::cat({at::randn(tensor.sizes()), tensor});
  }
  // Tensors of the encoder are ignored.
  tensors.emplace_back("encoder.0.weight", at::randn({2, 3, 3, 3}));
  io::write_safetensors(folder / "b.safetensors", tensors);
  EXPECT_TRUE(at::equal(TinyDecoder::load(folder / "b.safetensors").decode(latents, b), expected));
}

TEST(TinyDecoder, RejectsOtherFiles) {
  const TestFolder folder;
  const auto load = [&](const std::function<void(io::NamedTensors&)>& change) {
    io::NamedTensors tensors = testing::random_tiny_decoder(3, 1);
    change(tensors);
    io::write_safetensors(folder / "a.safetensors", tensors);
    TinyDecoder::load(folder / "a.safetensors");
  };
  const auto named = [](io::NamedTensors& tensors, const std::string& name) {
    return std::find_if(tensors.begin(), tensors.end(),
                        [&](const auto& tensor) { return tensor.first == name; });
  };
  EXPECT_NO_THROW(load([](io::NamedTensors&) {}));
  EXPECT_BAD_INPUT(load([&](auto& t) { t.erase(named(t, "decoder.1.weight")); }),
                   HasSubstr("has no convolution 'decoder.1.weight': it is not a small decoder"));
  EXPECT_BAD_INPUT(load([&](auto& t) { t.erase(named(t, "decoder.9.conv.2.bias")); }),
                   HasSubstr("1 missing: decoder.9.conv.2.bias"));
  EXPECT_BAD_INPUT(load([&](auto& t) { t.emplace_back("decoder.23.bias", at::zeros({2})); }),
                   HasSubstr("1 unexpected: decoder.23.bias"));
  EXPECT_BAD_INPUT(
      load([&](auto& t) {
        named(t, "decoder.13.conv.weight")->second = at::zeros({3, 3, 1, 1});
      }),
      HasSubstr("decoder.13.conv.weight: [3, 3, 1, 1] in the file, [6, 3, 1, 1] expected"));
  EXPECT_BAD_INPUT(load([&](auto& t) {
                     named(t, "decoder.22.weight")->second = at::zeros({2, 2, 3, 3});
                   }),
                   HasSubstr("layers without channels"));
  EXPECT_BAD_INPUT(TinyDecoder::load(test_data("model/vae_original.pth")),
                   HasSubstr("it is not a small decoder of TAEHV"));

  Vae vae(config_for(48));
  testing::write_tiny_decoder(folder / "b.safetensors", 16, 1);
  EXPECT_BAD_INPUT(
      vae.use_decoder(std::make_shared<TinyDecoder>(TinyDecoder::load(folder / "b.safetensors"))),
      AllOf(HasSubstr("b.safetensors decodes latents of 16 channels, 8x8 pixels and 4 frames"),
            HasSubstr("has 48 channels, 16x16 pixels and 4 frames; taew2_2 fits the autoencoder of "
                      "Wan2.2 5B")));
  EXPECT_EQ(vae.tiny_decoder(), nullptr);
}

}  // namespace
}  // namespace loci::model
