// SPDX-License-Identifier: Apache-2.0
// A training pass stays on the device of its parameters. The meta device stands for any that is not
// the CPU: it has shapes but no numbers, and no operation takes its tensors together with the
// CPU's.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/base/error.h"
#include "loci/memory/recurrent_memory.h"
#include "loci/train/captions.h"
#include "loci/train/latent_folder.h"
#include "loci/train/trainer.h"
#include "loci/train/window_pass.h"

#include "toy_clips.h"

namespace loci::train {
namespace {

class DeviceTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    folder_ = fresh_folder("device");
    write_toy_clips(folder_ / "clips", 2, 13);
    recipe_ = toy_recipe(folder_ / "clips");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  Json recipe_;
};

TEST_P(DeviceTest, AWindowGoesForwardAndBackOnTheDeviceOfTheParameters) {
  recipe_["model"]["recurrent_memory"] = GetParam();
  recipe_["text"]["encoder"] = {{"vocab_size", 259}, {"d_model", 8},   {"d_kv", 4},
                                {"d_ff", 16},        {"num_heads", 2}, {"num_layers", 1}};
  recipe_["model"]["text_len"] = 8;
  const TrainConfig config = TrainConfig::from_json(recipe_, "toy");
  for (const bool checkpointed : {false, true}) {
    for (const double bounded : {0.0, 1.0}) {
      auto parameters =
          std::make_shared<model::Parameters>(model::Parameters::Options{.device = at::kMeta});
      const model::Transformer transformer(config.model, parameters);
      const auto captions = make_caption_encoder(config.text, config.model, *parameters, {});
      parameters->set_requires_grad(true);
      HistoryAccessConfig history;
      history.bounded_share = bounded;
      const Window window = LatentFolder(folder_ / "clips", 0).window(0, 11);
      const WindowPass pass =
          prepare_window(window, config.model, config.noise, history, 0, 1, at::kMeta);
      const at::Tensor velocity = run_window(transformer, pass, captions->encode("a toy"),
                                             {.checkpoint_blocks = checkpointed});
      ASSERT_TRUE(velocity.is_meta());
      chunk_losses(velocity, pass.batch.target, config.model.chunk_size,
                   at::ones({config.model.channels}))
          .mean()
          .backward();
      for (const auto& [name, tensor] : parameters->all()) {
        if (!tensor.grad().defined()) continue;  // outside the graph, as phi of an unread state
        EXPECT_TRUE(tensor.grad().is_meta()) << name;
      }
      EXPECT_TRUE(parameters->all().front().tensor.grad().defined());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Memories, DeviceTest,
                         ::testing::ValuesIn(memory::recurrent_memory_names()),
                         [](const auto& info) { return info.param; });

TEST_F(DeviceTest, SaysWhenADeviceIsNotThere) {
  if (at::hasCUDA()) GTEST_SKIP() << "this libtorch has CUDA";
  recipe_["device"] = "cuda";
  const auto single = make_single_communicator();
  try {
    Trainer(TrainConfig::from_json(recipe_, "toy"), folder_ / "run", false, *single);
    FAIL() << "trained on a device that is not there";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("this libtorch sees 0"), std::string::npos);
  }
}

}  // namespace
}  // namespace loci::train
