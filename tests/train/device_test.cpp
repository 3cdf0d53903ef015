// SPDX-License-Identifier: Apache-2.0
// A training pass stays on the device of its parameters. The meta device represents any device
// other than the CPU: its tensors have shapes but no values, and no operation mixes them with CPU
// tensors.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include "loci/base/error.h"
#include "loci/memory/recurrent/recurrent_registry.h"
#include "loci/train/data/captions.h"
#include "loci/train/data/latent_folder.h"
#include "loci/train/windows/window_pass.h"

#include "toy_clips.h"
#include "training_runs.h"

namespace loci::train {
namespace {

// Kernels for the meta device that libtorch implements in Python only.
TORCH_LIBRARY_IMPL(aten, Meta, library) {
  library.impl("index_select", [](const at::Tensor& x, int64_t dim, const at::Tensor& index) {
    TORCH_CHECK(index.is_meta(), "index_select of a meta tensor by one of the CPU");
    std::vector<int64_t> shape = x.sizes().vec();
    shape[static_cast<size_t>(dim < 0 ? dim + x.dim() : dim)] = index.numel();
    return at::empty(shape, x.options());
  });
  library.impl("_safe_softmax", [](const at::Tensor& x, int64_t, std::optional<at::ScalarType>) {
    return at::empty_like(x);
  });
  library.impl("linalg_solve_triangular",
               [](const at::Tensor& system, const at::Tensor& right, bool, bool, bool) {
                 return at::empty_like(right + at::matmul(system, right));  // one device, one shape
               });
  library.impl("where.self",
               [](const at::Tensor& condition, const at::Tensor& a, const at::Tensor& b) {
                 return condition.to(a.scalar_type()) + a + b;
               });
  library.impl("flip", [](const at::Tensor& x, at::IntArrayRef) { return at::empty_like(x); });
  library.impl("native_layer_norm",
               [](const at::Tensor& x, at::IntArrayRef, const std::optional<at::Tensor>&,
                  const std::optional<at::Tensor>&, double) {
                 std::vector<int64_t> moments = x.sizes().vec();
                 moments.back() = 1;
                 const at::Tensor moment = at::empty(moments, x.options());
                 return std::make_tuple(at::empty_like(x), moment, moment.clone());
               });
  library.impl("native_layer_norm_backward",
               [](const at::Tensor&, const at::Tensor& x, at::IntArrayRef, const at::Tensor&,
                  const at::Tensor&, const std::optional<at::Tensor>&,
                  const std::optional<at::Tensor>&, std::array<bool, 3>) {
                 return std::make_tuple(at::empty_like(x), at::Tensor(), at::Tensor());
               });
}

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

TEST_P(DeviceTest, ForwardAndBackwardPassStayOnTheDeviceOfTheParameters) {
  recipe_["model"]["recurrent_memory"] = GetParam();
  const TransformerRecipe config = TransformerRecipe::from_json(recipe_, "toy");
  for (const bool checkpointed : {false, true}) {
    for (const double bounded : {0.0, 1.0}) {
      auto parameters =
          std::make_shared<model::Parameters>(model::Parameters::Options{.device = at::kMeta});
      const model::Transformer transformer(config.model, parameters);
      const auto captions = make_caption_encoder(config.text, config.model, *parameters, {});
      parameters->set_requires_grad(true);
      WindowStages stages = config.phases.front().stages;
      stages.history.bounded_share = bounded;
      const Window window = LatentFolder(folder_ / "clips", 0).window(0, 11);
      const WindowPass pass = prepare_window(window, config.model, stages, 1, at::kMeta);
      const at::Tensor velocity = run_window(transformer, pass, captions->encode("a toy"),
                                             {.checkpoint_blocks = checkpointed});
      ASSERT_TRUE(velocity.is_meta());
      chunk_losses(velocity, pass.batch.target, config.model.chunk_size,
                   {.channel_weights = at::ones({config.model.channels}), .log_above = 1})
          .mean()
          .backward();
      for (const auto& [name, tensor] : parameters->all()) {
        if (!tensor.grad().defined()) continue;  // e.g. phi of a state that is not read
        EXPECT_TRUE(tensor.grad().is_meta()) << name;
      }
      EXPECT_TRUE(parameters->all().front().tensor.grad().defined());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Memories, DeviceTest,
                         ::testing::ValuesIn(memory::recurrent_memory_names()),
                         [](const auto& info) { return info.param; });

TEST_F(DeviceTest, RefusesADeviceThatDoesNotExist) {
  if (at::hasCUDA()) GTEST_SKIP() << "this libtorch has CUDA";
  recipe_["device"] = "cuda";
  const auto single = make_single_communicator();
  try {
    TransformerRun(TransformerRecipe::from_json(recipe_, "toy"), folder_ / "run", false, *single);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("libtorch finds 0"), std::string::npos);
  }
}

}  // namespace
}  // namespace loci::train
