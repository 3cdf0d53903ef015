// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/cost/block_cost.h"

#include <unistd.h>

#include <filesystem>
#include <string_view>

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include "loci/io/tensors/safetensors.h"
#include "loci/model/transformer/block_work.h"

namespace loci::eval {
namespace {

model::TransformerConfig small() {
  model::TransformerConfig config;
  config.heads = 2;
  config.ffn_dim = 96;
  config.text_len = 7;
  config.camera_attn_compress = 2;
  return config;
}

ChunkStepOptions step_options(bool bounded, at::ScalarType dtype) {
  ChunkStepOptions options;
  options.grid = {2, 3};
  options.past_frames = 4;
  options.bounded = bounded;
  options.dtype = dtype;
  return options;
}

// Counts the multiplications and additions of libtorch's products during its lifetime.
class Counter {
 public:
  Counter() : handle_(at::addThreadLocalCallback(callback())) { products = attention = 0; }
  ~Counter() { at::removeCallback(handle_); }

  static inline double products = 0, attention = 0;

 private:
  static std::unique_ptr<at::ObserverContext> count(const at::RecordFunction& function) {
    const std::string_view name = function.name();
    const auto input = [&](size_t i) { return function.inputs()[i].toTensor(); };
    const auto add = [&](const at::Tensor& a, const at::Tensor& b) {
      // block_work() ignores the 4x4 tiles of camera maps.
      if (a.size(-1) == 4 || b.size(-1) == 4) return;
      products += 2.0 * static_cast<double>(a.numel() * b.size(-1));
    };
    if (name == "aten::mm" || name == "aten::bmm") add(input(0), input(1));
    if (name == "aten::addmm" || name == "aten::baddbmm") add(input(1), input(2));
    if (name == "aten::_scaled_dot_product_flash_attention_for_cpu") {  // [B, H, N, D]
      attention += 4.0 * static_cast<double>(input(0).numel() * input(1).size(2));
    }
    return nullptr;
  }
  static at::RecordFunctionCallback callback() {
    return at::RecordFunctionCallback(&count).needsInputs(true).scopes({at::RecordScope::FUNCTION});
  }

  at::CallbackHandle handle_;
};

// In FP64 every operation is executed by libtorch and can be observed.
TEST(BlockWork, EqualsTheExecutedOperations) {
  const BlockPair blocks(small(), {2, 3}, at::kDouble);
  for (const bool bounded : {true, false}) {
    const ChunkStep step(blocks.config(), step_options(bounded, at::kDouble));
    for (const BlockKind kind : kBlockKinds) {
      const model::BlockWork work = model::block_work(blocks.config(), kind == BlockKind::kHybrid,
                                                      step.tokens(), step.past_tokens());
      const Counter counter;
      blocks.run(step, kind, /*commit=*/false);
      EXPECT_EQ(Counter::attention, work.attention) << name_of(kind);
      EXPECT_EQ(Counter::products, work.linears + work.recurrent) << name_of(kind);
    }
  }
}

TEST(BlockWork, GrowsWithTheHistoryThatIsAttendedTo) {
  const model::TransformerConfig config = small();
  const double keys = 4.0 * 10 * 50;  // ten queries, fifty more keys
  const auto more = [&](bool hybrid) {
    return model::block_work(config, hybrid, 10, 90).total() -
           model::block_work(config, hybrid, 10, 40).total();
  };
  EXPECT_EQ(more(false), keys * 3 * 128);  // two main heads and one camera head
  EXPECT_EQ(more(true), keys * 128);
  EXPECT_GT(model::block_work(config, true, 10, 40, /*commit=*/true).recurrent,
            model::block_work(config, true, 10, 40).recurrent);
  EXPECT_EQ(model::block_work(config, false, 10, 40, true).recurrent, 0);
}

TEST(BlockPair, OutputDependsOnTheWholeHistory) {
  const BlockPair blocks(small(), {2, 3}, at::kFloat);
  const ChunkStep sparse(blocks.config(), step_options(true, at::kFloat));
  const ChunkStep dense(blocks.config(), step_options(false, at::kFloat));
  ChunkStepOptions less = step_options(false, at::kFloat);
  less.past_frames = 3;
  const ChunkStep shorter(blocks.config(), less);
  for (const BlockKind kind : kBlockKinds) {
    const at::Tensor out = blocks.run(sparse, kind, false);
    EXPECT_TRUE(at::isfinite(out).all().item<bool>());
    EXPECT_TRUE(at::equal(out, blocks.run(sparse, kind, false))) << "not reproducible";
    EXPECT_TRUE(at::equal(out, blocks.run(sparse, kind, true)))
        << "a chunk must not read its own write";
    EXPECT_FALSE(at::allclose(blocks.run(dense, kind, false), blocks.run(shorter, kind, false)));
  }
  // Rotation to compact times changes the keys of the softmax block. Hybrid blocks store no rotated
  // keys.
  EXPECT_FALSE(at::allclose(blocks.run(sparse, BlockKind::kSoftmax, false),
                            blocks.run(dense, BlockKind::kSoftmax, false)));
}

TEST(BlockPair, Bf16IsCloseToFp32) {
  const BlockPair narrow(small(), {2, 3}, at::kBFloat16), wide(small(), {2, 3}, at::kFloat);
  const ChunkStep narrow_step(narrow.config(), step_options(true, at::kBFloat16));
  const ChunkStep wide_step(wide.config(), step_options(true, at::kFloat));
  for (const BlockKind kind : kBlockKinds) {
    const at::Tensor expected = wide.run(wide_step, kind, false);
    const at::Tensor error = narrow.run(narrow_step, kind, false) - expected;
    EXPECT_LT((error.norm() / (expected - wide.input()).norm()).item<double>(), 0.03);
  }
  EXPECT_EQ(2 * narrow.weight_bytes(), wide.weight_bytes());
}

TEST(BlockPair, QuantizedIsCloseToFp32AndSmaller) {
  const BlockPair wide(small(), {2, 3}, at::kFloat);
  const ChunkStep wide_step(wide.config(), step_options(true, at::kFloat));
  for (const auto& [quantization, tolerance, shrinks] :
       {std::tuple("int8", 0.04, 3.0), std::tuple("int4", 0.4, 5.0)}) {
    model::TransformerConfig config = small();
    config.quantization = quantization;
    const BlockPair narrow(config, {2, 3}, at::kBFloat16);
    const ChunkStep step(narrow.config(), step_options(true, at::kBFloat16));
    for (const BlockKind kind : kBlockKinds) {
      const at::Tensor expected = wide.run(wide_step, kind, false);
      const at::Tensor error = narrow.run(step, kind, false) - expected;
      EXPECT_LT((error.norm() / (expected - wide.input()).norm()).item<double>(), tolerance)
          << quantization;
    }
    EXPECT_LT(shrinks * static_cast<double>(narrow.weight_bytes()),
              static_cast<double>(wide.weight_bytes()));
  }
}

TEST(BlockPair, WritesDequantizedWeights) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) /
                                     fmt::format("loci_block_int8_{}.safetensors", ::getpid());
  model::TransformerConfig config = small();
  config.quantization = "int8";
  const BlockPair blocks(config, {2, 3}, at::kBFloat16), wide(small(), {2, 3}, at::kFloat);
  const ChunkStep step(blocks.config(), step_options(true, at::kBFloat16));
  const ChunkStep wide_step(wide.config(), step_options(true, at::kFloat));
  const std::string name = "weight.blocks.1.ffn.net.2.weight";
  wide.write_case(file, wide_step, at::kFloat);
  const at::Tensor original = io::SafetensorsFile::open(file).tensor(name).clone();
  blocks.write_case(file, step, at::kFloat);
  const auto saved = io::SafetensorsFile::open(file);
  EXPECT_EQ(saved.tensor(name).scalar_type(), at::kFloat);
  EXPECT_FALSE(saved.has(name + "_scale"));
  EXPECT_EQ(saved.tensor("main.0.key").scalar_type(), at::kFloat);
  const double error = ((saved.tensor(name) - original).norm() / original.norm()).item<double>();
  EXPECT_GT(error, 0);
  EXPECT_LT(error, 0.01);
  std::filesystem::remove(file);
}

TEST(BlockPair, WritesTheCase) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) /
                                     fmt::format("loci_block_case_{}.safetensors", ::getpid());
  const BlockPair blocks(small(), {2, 3}, at::kBFloat16);
  const ChunkStep step(blocks.config(), step_options(true, at::kBFloat16));
  blocks.write_case(file, step, at::kBFloat16);
  const auto saved = io::SafetensorsFile::open(file);
  EXPECT_TRUE(at::equal(saved.tensor("in.x"), blocks.input()));
  EXPECT_EQ(saved.tensor("main.0.key").sizes(), (std::vector<int64_t>{1, 24, 2, 128}));
  EXPECT_EQ(saved.tensor("camera.1.value").sizes(), (std::vector<int64_t>{1, 24, 1, 128}));
  EXPECT_FALSE(saved.has("main.1.key"));
  EXPECT_TRUE(saved.has("state.1"));
  EXPECT_EQ(saved.tensor("weight.blocks.1.ffn.net.2.weight").scalar_type(), at::kBFloat16);
  EXPECT_TRUE(saved.tensor("weight.blocks.0.camera_attn.out_proj.weight").any().item<bool>());
  std::filesystem::remove(file);
}

TEST(CostOf, RepeatsCallsForASecond) {
  int calls = 0;
  const CallCost cost = cost_of([&] {
    ++calls;
    ::usleep(300'000);
  });
  EXPECT_GE(calls, 2);
  EXPECT_GE(cost.seconds, 0.3);
  EXPECT_LT(cost.processor, cost.seconds);
}

}  // namespace
}  // namespace loci::eval
