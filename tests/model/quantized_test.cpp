// SPDX-License-Identifier: Apache-2.0
// Models with quantized linear layers: files, memory and results.
#include <unistd.h>

#include <map>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/model/weights/summary.h"
#include "loci/model/weights/weights.h"

#include "tests/base/expect_error.h"
#include "tests/kernels/dequantize.h"
#include "tests/model/tiny_model.h"

namespace loci::model {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Quantized : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / fmt::format("loci_quantized_{}", ::getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path save(kernels::WeightFormat format, WeightLayout layout = WeightLayout::kRelease) {
    const fs::path path = folder_ / fmt::format("{}_{}", kernels::name_of(format), name_of(layout));
    save_model(config_, model_.parameters().all(), path,
               {.layout = layout, .dtype = at::kFloat, .quantize = format});
    return path;
  }

  const at::NoGradGuard no_grad_;
  TransformerConfig config_ = testing::tiny_config();
  Transformer model_ = testing::random_transformer(config_);
  fs::path folder_;
};

// The same model with each large weight replaced by its quantized value.
Transformer rounded(const Transformer& model, kernels::WeightFormat format) {
  Transformer copy = testing::random_transformer(model.config());
  copy.visit_large([&](Linear& linear) {
    linear.weight.copy_(kernels::dequantize(kernels::quantize_weight(linear.weight, format)));
  });
  return copy;
}

TEST_F(Quantized, ModelsSurviveSaveAndLoad) {
  const testing::TinyWindow window = testing::tiny_window(config_, 3);
  const at::Tensor original = testing::window_velocity(model_, window);
  for (const auto format : {kernels::WeightFormat::kInt8, kernels::WeightFormat::kInt4}) {
    for (const auto layout : {WeightLayout::kRelease, WeightLayout::kTraining}) {
      const fs::path path = save(format, layout);
      const FitReport fit = check_fit(open_model(path).config, io::Checkpoint::open(path));
      if (layout == WeightLayout::kTraining) {
        EXPECT_EQ(fit.layout, layout);
      }
      EXPECT_TRUE(fit.report.clean()) << fit.report.text();
      const LoadedModel loaded = load_model(path);
      EXPECT_EQ(loaded.transformer.config().quantization, kernels::name_of(format));
      const at::Tensor velocity = testing::window_velocity(loaded.transformer, window);
      // INT4 weights meet inputs in FP32; for INT8 inputs are rounded too.
      const bool eight = format == kernels::WeightFormat::kInt8;
      EXPECT_LT(testing::relative_error(velocity,
                                        testing::window_velocity(rounded(model_, format), window)),
                eight ? 0.05 : 1e-4);
      const double off = testing::relative_error(velocity, original);
      EXPECT_GT(off, 1e-4);
      EXPECT_LT(off, eight ? 0.05 : 0.5);
    }
  }
}

// A new quantized model equals the float model of the same seed, quantized, and keeps each large
// weight once, in the packed layout.
TEST_F(Quantized, NewModelsEqualQuantizedFloatModels) {
  const testing::TinyWindow window = testing::tiny_window(config_, 2);
  for (const auto format : {kernels::WeightFormat::kInt8, kernels::WeightFormat::kInt4}) {
    TransformerConfig config = config_;
    config.quantization = kernels::name_of(format);
    Transformer fresh(config, std::make_shared<Parameters>(Parameters::Options{.seed = 5}));
    Transformer plain(config_, std::make_shared<Parameters>(Parameters::Options{.seed = 5}));
    plain.visit_large([&](Linear& linear) {
      linear.weight = kernels::dequantize(kernels::quantize_weight(linear.weight, format));
    });
    EXPECT_LT(testing::relative_error(testing::window_velocity(fresh, window),
                                      testing::window_velocity(plain, window)),
              format == kernels::WeightFormat::kInt8 ? 0.05 : 1e-4);
    std::map<std::string, const void*> kept;
    for (const Parameter& parameter : fresh.parameters().all()) {
      kept[parameter.name] = parameter.tensor.const_data_ptr();
    }
    fresh.visit_large([&](const Linear& linear) {
      const auto* packed = linear.product.target<kernels::PackedLinear>();
      ASSERT_NE(packed, nullptr);
      EXPECT_EQ(kept.at(linear.name + ".weight"), packed->panels().const_data_ptr());
    });
  }
}

TEST_F(Quantized, PackedBf16ProductsEqualLibtorch) {
  const testing::TinyWindow window = testing::tiny_window(config_, 2);
  Transformer half = testing::random_transformer(config_, at::kBFloat16);
  const at::Tensor expected = testing::window_velocity(half, window);
  size_t layers = 0;
  half.visit_large([&](Linear& linear) {
    linear.pack(kernels::WeightFormat::kBfloat16);
    ++layers;
  });
  EXPECT_EQ(layers, static_cast<size_t>(14 * config_.layers));
  EXPECT_LT(testing::relative_error(testing::window_velocity(half, window), expected), 0.1);
}

TEST_F(Quantized, FilesAreSmallerWithTheSameParameterCount) {
  const auto bytes = [](const fs::path& path) {
    uint64_t sum = 0;
    for (const io::TensorInfo& tensor : io::Checkpoint::open(path).tensors()) sum += tensor.bytes;
    return sum;
  };
  const uint64_t plain = bytes(save(kernels::WeightFormat::kBfloat16));
  const uint64_t eight = bytes(save(kernels::WeightFormat::kInt8));
  const uint64_t four = bytes(save(kernels::WeightFormat::kInt4));
  EXPECT_LT(eight, plain);
  EXPECT_LT(four, eight);
  const TransformerConfig config =
      open_model(save(kernels::WeightFormat::kInt8, WeightLayout::kTraining)).config;
  EXPECT_EQ(count_parameters(config).total(), count_parameters(config_).total());
}

TEST_F(Quantized, RejectsMismatchedConfigs) {
  const fs::path path = save(kernels::WeightFormat::kInt8);
  // Without the config's key the quantized tensors are not weights.
  write_file(path / "config.json", config_.to_json().dump());
  EXPECT_BAD_INPUT(load_model(path), AllOf(HasSubstr("Char in the file, floating point expected"),
                                           HasSubstr("weight_scale")));
  Json json = config_.to_json();
  json["quantization"] = "int4";
  write_file(path / "config.json", json.dump());
  EXPECT_BAD_INPUT(load_model(path), HasSubstr("Byte"));
  json["quantization"] = "int3";
  write_file(path / "config.json", json.dump());
  EXPECT_BAD_INPUT(load_model(path), HasSubstr("quantization"));
}

}  // namespace
}  // namespace loci::model
