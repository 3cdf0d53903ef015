// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/config.h"
#include "loci/base/file.h"
#include "loci/model/weights/weights.h"

#include "tests/app/run_command.h"
#include "tests/io/gguf_bytes.h"
#include "tests/sample/tiny_folder.h"

namespace loci::app {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Convert : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / fmt::format("loci_convert_{}", ::getpid());
    fs::remove_all(folder_);
    testing::make_tiny_folder(folder_ / "model", 1);
    write_file(folder_ / "model" / "README.md", "mine\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string in(const char* name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

TEST_F(Convert, QuantizesAndReportsTheError) {
  for (const char* format : {"int8", "int4"}) {
    const Outcome outcome = run_command(
        {"convert", in("model"), "--quantize", format, "--dtype", "fp32", "--out", in(format)});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("ffn.net.0.proj"),
                                   HasSubstr("largest errors: blocks."), HasSubstr(": done\n")));
    const fs::path made = in(format);
    EXPECT_EQ(load_json(made / "config.json")["quantization"], format);
    EXPECT_EQ(read_file(made / "README.md"), "mine\n");
    EXPECT_TRUE(fs::exists(made / "vae" / "config.json"));
    EXPECT_TRUE(fs::exists(made / "generation.json"));
    const Json report = load_json(made / "quantization.json");
    EXPECT_LT(report["bytes_after"], report["bytes_before"]);
    EXPECT_EQ(report["error"]["layers"].size(), 28U);
    EXPECT_EQ(report["error"]["velocity_by_chunk"].size(), 2U);
    for (const Json& error : report["error"]["velocity_by_chunk"]) {
      EXPECT_GT(error, 0);
      EXPECT_LT(error, std::string(format) == "int8" ? 0.05 : 0.5);
    }
    EXPECT_THAT(run_command({"inspect", in(format)}).out,
                HasSubstr(fmt::format("large linear layers quantized to {}", format)));
  }
  const Json eight = load_json(folder_ / "int8" / "quantization.json");
  const Json four = load_json(folder_ / "int4" / "quantization.json");
  EXPECT_LT(eight["error"]["kinds"]["attn1.to_q"]["mean"],
            four["error"]["kinds"]["attn1.to_q"]["mean"]);
}

TEST_F(Convert, ChangesTypeAndLayout) {
  const Outcome outcome = run_command(
      {"convert", in("model"), "--layout", "training", "--dtype", "fp32", "--out", in("other")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const model::LoadedModel before = model::load_model(in("model")),
                           after = model::load_model(in("other"));
  EXPECT_EQ(after.layout, model::WeightLayout::kTraining);
  const auto& a = before.transformer.parameters().all();
  const auto& b = after.transformer.parameters().all();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i].tensor, b[i].tensor));
}

TEST_F(Convert, ReadsGguf) {
  const model::LoadedModel before = model::load_model(in("model"));
  io::NamedTensors tensors;
  for (const model::Parameter& parameter : before.transformer.parameters().all()) {
    tensors.emplace_back(parameter.name, parameter.tensor);
  }
  const fs::path weights = fs::path(in("model")) / "diffusion_pytorch_model.safetensors";
  ASSERT_TRUE(fs::remove(weights));
  write_file(fs::path(in("model")) / "model-F32.gguf", testing::gguf_bytes(tensors));
  const Outcome outcome =
      run_command({"convert", in("model"), "--dtype", "fp32", "--out", in("other")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(fs::exists(fs::path(in("other")) / "diffusion_pytorch_model.safetensors"));
  EXPECT_FALSE(fs::exists(fs::path(in("other")) / "model-F32.gguf"));
  const model::LoadedModel after = model::load_model(in("other"));
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_TRUE(at::equal(after.transformer.parameters().all()[i].tensor, tensors[i].second));
  }
}

TEST_F(Convert, RejectsImpossibleConversions) {
  ASSERT_EQ(run_command({"convert", in("model"), "--quantize", "int8", "--chunks", "0", "--out",
                         in("once")})
                .code,
            0);
  const Outcome twice =
      run_command({"convert", in("once"), "--quantize", "int4", "--out", in("twice")});
  EXPECT_EQ(twice.code, 2);
  EXPECT_THAT(twice.err, HasSubstr("is already quantized to int8"));
  EXPECT_FALSE(fs::exists(in("twice")));
  const Outcome plain = run_command(
      {"convert", in("model"), "--quantize", "int8", "--layout", "wan", "--out", in("plain")});
  EXPECT_EQ(plain.code, 2);
  EXPECT_THAT(plain.err, HasSubstr("--quantize cannot be combined with --layout"));
  EXPECT_EQ(run_command({"convert", in("nowhere"), "--out", in("x")}).code, 2);
  const Outcome there = run_command({"convert", in("model"), "--out", in("once")});
  EXPECT_EQ(there.code, 2);
  EXPECT_THAT(there.err, HasSubstr("once"));
}

}  // namespace
}  // namespace loci::app
