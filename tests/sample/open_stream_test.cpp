// SPDX-License-Identifier: Apache-2.0
#include "loci/sample/open_stream.h"

#include <unistd.h>

#include <filesystem>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/model/autoencoder/pixels.h"

#include "tests/base/damage.h"
#include "tests/base/expect_error.h"
#include "tests/model/tiny_decoder_file.h"
#include "tests/sample/tiny_folder.h"

namespace loci::sample {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class OpenStream : public ::testing::Test {
 protected:
  OpenStream() {
    testing::make_tiny_folder(folder_, 1);
    const Json defaults = {{"width", testing::kTinyWidth},
                           {"height", testing::kTinyHeight},
                           {"solver", "unipc"},
                           {"steps", 2},
                           {"shift", 3},
                           {"guidance", 1.5},
                           {"history", "overlap"},
                           {"history_frames", 7},
                           {"archive", 11},
                           {"commit_level", 0.25}};
    write_file(folder_ / "generation.json", defaults.dump());
  }
  ~OpenStream() override { fs::remove_all(folder_); }

  fs::path folder_ =
      fs::path(::testing::TempDir()) / fmt::format("loci_open_stream_{}", ::getpid());
};

TEST_F(OpenStream, FollowsEveryDefaultOfTheFolder) {
  const ModelFolder folder(folder_);
  const Stream stream = open_stream(folder);
  const StreamOptions& options = stream.options();
  EXPECT_EQ(options.latent_width, testing::kTinyWidth / 8);
  EXPECT_EQ(options.latent_height, testing::kTinyHeight / 8);
  EXPECT_EQ(options.history.kind, "overlap");
  EXPECT_EQ(options.history.budget, 7);
  EXPECT_EQ(options.history.archive, 11);
  EXPECT_EQ(options.solver.kind, "unipc");
  EXPECT_EQ(options.solver.steps, 2);
  EXPECT_EQ(options.solver.shift, 3);
  EXPECT_EQ(options.guidance, 1.5);
  EXPECT_EQ(options.commit_level, 0.25);
  EXPECT_EQ(options.kv.format, memory::KvFormat::kPlain);
  EXPECT_EQ(options.tiling.tile, 0);
}

TEST_F(OpenStream, AppliesOverrides) {
  const ModelFolder folder(folder_);
  const StreamOverrides overrides{.size = PixelSize{32, 64},
                                  .history = "window",
                                  .history_frames = 5,
                                  .archive = 0,
                                  .kv = "int8",
                                  .staging_bytes = 1 << 20,
                                  .solver = "euler",
                                  .steps = 3,
                                  .shift = 2,
                                  .guidance = 1,
                                  .commit_level = 0,
                                  .seed = 8,
                                  .tile = 32};
  const StreamOptions options = stream_options(folder, overrides);
  EXPECT_EQ(options.latent_width, 4);
  EXPECT_EQ(options.latent_height, 8);
  EXPECT_EQ(options.history.kind, "window");
  EXPECT_EQ(options.history.budget, 5);
  EXPECT_EQ(options.history.archive, 0);
  EXPECT_EQ(options.kv.format, memory::KvFormat::kInt8);
  EXPECT_EQ(options.kv.staging_bytes, 1 << 20);
  EXPECT_EQ(options.solver.kind, "euler");
  EXPECT_EQ(options.solver.steps, 3);
  EXPECT_EQ(options.solver.shift, 2);
  EXPECT_EQ(options.guidance, 1);
  EXPECT_EQ(options.commit_level, 0);
  EXPECT_EQ(options.seed, 8U);
  EXPECT_EQ(options.tiling.tile, 32);
  EXPECT_LE(options.tiling.overlap, 16);
}

TEST_F(OpenStream, ChangedWeightFilesDoNotChangeAStream) {
  const std::vector<camera::Camera> first(1), next(2);
  // The second chunk, generated after the weight files have changed.
  const auto generate = [&](const auto& change) {
    fs::remove_all(folder_);
    testing::make_tiny_folder(folder_, 1);
    const ModelFolder folder(folder_);
    Stream stream = open_stream(folder, {.seed = 3});
    const int64_t height = stream.options().latent_height, width = stream.options().latent_width;
    stream.accept(at::zeros({1, 3, 1, height, width}), first);
    stream.push(next);
    testing::change_weights(folder_, change);
    return stream.push(next).latents.clone();
  };
  const at::Tensor undisturbed = generate([](const fs::path&) {});
  EXPECT_TRUE(generate(testing::overwrite_in_place).equal(undisturbed));
  EXPECT_TRUE(generate(testing::truncate_to_nothing).equal(undisturbed));
}

TEST_F(OpenStream, DecodesWithASmallDecoder) {
  const fs::path file = folder_ / "taew2_2.safetensors", world = folder_ / "a.world";
  testing::write_tiny_decoder(file, 3, 1);
  const ModelFolder own(folder_), small(folder_, at::kFloat, file);
  const at::Tensor latents = at::randn({1, 3, 1, 4, 6});
  const camera::Camera camera;
  const auto start = [&](const ModelFolder& folder) {
    Stream stream = open_stream(folder);
    return std::pair(stream.accept(latents, std::span(&camera, 1)).frames, std::move(stream));
  };
  auto [own_frames, own_stream] = start(own);
  auto [frames, stream] = start(small);
  model::VaeCache cache;
  const model::TinyDecoder decoder = model::TinyDecoder::load(file);
  EXPECT_TRUE(at::equal(frames, model::frames_from_pixels(decoder.decode(latents, cache))));
  EXPECT_EQ(frames.sizes(), own_frames.sizes());
  EXPECT_FALSE(at::equal(frames, own_frames));

  // The latents are those of the same autoencoder, but the state of a saved world belongs to its
  // decoder.
  EXPECT_EQ(small.hashes().autoencoder, own.hashes().autoencoder);
  EXPECT_EQ(own.hashes().decoder, "");
  const std::vector<camera::Camera> ahead(static_cast<size_t>(stream.chunk_size()));
  const auto load = [&](const ModelFolder& folder) {
    return Stream::load(world, folder.transformer(), &folder.vae(), folder.hashes());
  };
  stream.save(world);
  Stream loaded = load(small);
  EXPECT_TRUE(at::equal(loaded.push(ahead).frames, stream.push(ahead).frames));
  EXPECT_BAD_INPUT(load(own), HasSubstr("was saved with a small decoder"));
  own_stream.save(world);
  EXPECT_NO_THROW(load(own));
  EXPECT_BAD_INPUT(load(small), HasSubstr("was saved with the autoencoder's own decoder"));

  testing::write_tiny_decoder(file, 3, 2);
  EXPECT_BAD_INPUT(ModelFolder(folder_, at::kFloat, file).vae(),
                   HasSubstr("decodes latents of 3 channels, 16x16 pixels and 4 frames; the "
                             "model's autoencoder has 3 channels, 8x8 pixels"));
}

TEST_F(OpenStream, RejectsSizesThatDoNotDivideIntoTokens) {
  const ModelFolder folder(folder_);
  EXPECT_BAD_INPUT(stream_options(folder, {.size = PixelSize{50, 32}}), HasSubstr("choose 48x32"));
}

}  // namespace
}  // namespace loci::sample
