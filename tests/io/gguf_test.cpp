// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/gguf/gguf.h"

#include <cstring>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/io/tensors/checkpoint.h"
#include "loci/io/tensors/safetensors.h"

#include "tensor_testing.h"

namespace loci::io {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

// Builds GGUF files byte by byte.
class Bytes {
 public:
  template <typename T>
  Bytes& number(T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    text_.append(bytes, sizeof value);
    return *this;
  }
  Bytes& text(std::string_view value) {
    number(static_cast<uint64_t>(value.size()));
    text_ += value;
    return *this;
  }
  Bytes& start(uint64_t tensors, uint64_t values, uint32_t version = 3) {
    text_ += "GGUF";
    return number(version).number(tensors).number(values);
  }
  // Extents in the order of the file, innermost first.
  Bytes& tensor(std::string_view name, const std::vector<uint64_t>& extents, uint32_t type,
                uint64_t offset) {
    text(name).number(static_cast<uint32_t>(extents.size()));
    for (const uint64_t extent : extents) number(extent);
    return number(type).number(offset);
  }
  // Zeros up to the next multiple of `alignment`, then `size` zeros.
  Bytes& data(size_t size, size_t alignment = 32) {
    text_.resize((text_.size() + alignment - 1) / alignment * alignment + size);
    return *this;
  }
  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

constexpr uint32_t kF32 = 0, kQ40 = 2;

class Gguf : public ::testing::Test {
 protected:
  void refuse(const Bytes& bytes, std::string_view part) const { refuse(bytes.str(), part); }
  void refuse(const std::string& bytes, std::string_view part) const {
    SCOPED_TRACE(part);
    const fs::path path = folder_.write("file.gguf", bytes);
    expect_bad_input([&] { GgufFile::open(path); }, part);
  }
  GgufFile open(const Bytes& bytes) const {
    return GgufFile::open(folder_.write("file.gguf", bytes.str()));
  }

  TempFolder folder_;
};

TEST_F(Gguf, EveryTypeHasTheValuesOfTheOriginalPackage) {
  const GgufFile file = GgufFile::open(fixture("gguf/types.gguf"));
  const SafetensorsFile expected = SafetensorsFile::open(fixture("gguf/types.safetensors"));
  EXPECT_EQ(file.tensors().size(), 18U);
  EXPECT_EQ(file.tensors().size(), expected.tensors().size());
  for (const TensorInfo& info : file.tensors()) {
    SCOPED_TRACE(info.name);
    const at::Tensor values = file.tensor(info.name);
    EXPECT_EQ(values.scalar_type(), info.dtype);
    EXPECT_EQ(values.sizes(), at::IntArrayRef(info.shape));
    EXPECT_EQ(values.nbytes(), info.bytes);
    // The package's values in FP32, rounded to the type in memory.
    EXPECT_TRUE(same(values, expected.tensor(info.name).to(info.dtype)));
  }
  EXPECT_EQ(file.info("q4_k").dtype, at::kBFloat16);
  EXPECT_EQ(file.info("q4_k").file_type(), "Q4_K");
  EXPECT_EQ(file.info("q4_k").file_bytes(), 288U);
  EXPECT_EQ(file.info("f16").file_type(), "F16");
  EXPECT_EQ(file.info("f16").file_bytes(), 12U);
  EXPECT_FALSE(file.has("q8_k"));
  expect_bad_input([&] { file.tensor("q8_k"); }, "there is no tensor 'q8_k' among its 18 tensors");
}

TEST_F(Gguf, ReadsVersion2) {
  const GgufFile types = GgufFile::open(fixture("gguf/types.gguf"));
  const GgufFile file = GgufFile::open(fixture("gguf/version2.gguf"));
  std::vector<std::string> names;
  for (const TensorInfo& info : file.tensors()) {
    names.push_back(info.name);
    EXPECT_TRUE(same(file.tensor(info.name), types.tensor(info.name))) << info.name;
  }
  EXPECT_THAT(names, ElementsAre("q8_0", "q4_0", "q4_1", "q5_0", "q5_1"));
}

TEST_F(Gguf, ReadsMetadataAndShapes) {
  const GgufFile file = GgufFile::open(fixture("gguf/layout.gguf"));
  const std::map<std::string, std::string> expected = {{"a.bool", "true"},
                                                       {"a.float32", "0.5"},
                                                       {"a.float64", "0.25"},
                                                       {"a.int16", "-300"},
                                                       {"a.int32", "-70000"},
                                                       {"a.int64", "-1099511627776"},
                                                       {"a.int8", "-5"},
                                                       {"a.string", "words ü"},
                                                       {"a.uint16", "60000"},
                                                       {"a.uint32", "4000000000"},
                                                       {"a.uint64", "9223372036854775808"},
                                                       {"a.uint8", "200"},
                                                       {"general.alignment", "64"},
                                                       {"general.architecture", "wan"}};
  EXPECT_EQ(file.metadata(), expected);
  EXPECT_TRUE(same(file.tensor("one"), ramp({5})));
  EXPECT_TRUE(same(file.tensor("five"), ramp({2, 3, 1, 2, 2})));
  EXPECT_TRUE(same(file.tensor("last"), ramp({4, 8}, at::kHalf)));
  EXPECT_THAT(file.info("reshaped").shape, ElementsAre(4, 3, 2, 16));
  EXPECT_EQ(file.info("reshaped").file_type(), "Q8_0");
  EXPECT_LT(
      (file.tensor("reshaped").to(at::kFloat) - ramp({4, 3, 2, 16})).abs().max().item<float>(),
      0.05);
}

TEST_F(Gguf, ConvertsLargeTensorsInParts) {
  // Q4_0 blocks with the scale 1: the values of a block are those of its 16 bytes.
  constexpr int64_t kBlocks = 40'000;
  Bytes bytes;
  bytes.start(1, 0).tensor("a", {32, kBlocks}, kQ40, 0).data(18 * kBlocks);
  std::string content = bytes.str();
  for (int64_t b = 0; b < kBlocks; ++b) {
    char* block = content.data() + content.size() - 18 * (kBlocks - b);
    block[0] = 0x00, block[1] = 0x3c;  // 1 in half precision
    for (int j = 0; j < 16; ++j) block[2 + j] = static_cast<char>((b + j) % 16);
  }
  const fs::path path = folder_.write("large.gguf", content);
  const at::Tensor got = GgufFile::open(path).tensor("a");
  const at::Tensor low = at::arange(kBlocks).view({-1, 1}) + at::arange(16);
  EXPECT_TRUE(at::equal(got.narrow(1, 0, 16).to(at::kLong), low % 16 - 8));
  EXPECT_TRUE(at::equal(got.narrow(1, 16, 16), at::full({kBlocks, 16}, -8, at::kBFloat16)));
}

TEST_F(Gguf, ReadsEmptyFilesAndTensors) {
  EXPECT_TRUE(open(Bytes().start(0, 0)).tensors().empty());
  const GgufFile file = open(Bytes()
                                 .start(3, 0)
                                 .tensor("s", {}, kF32, 0)
                                 .tensor("e", {0, 3}, kF32, 0)
                                 .tensor("q", {32, 0}, kQ40, 32)
                                 .data(32));
  EXPECT_EQ(file.tensor("s").dim(), 0);
  EXPECT_THAT(file.tensor("e").sizes(), ElementsAre(3, 0));
  EXPECT_THAT(file.tensor("q").sizes(), ElementsAre(0, 32));
}

TEST_F(Gguf, RejectsOtherFiles) {
  refuse(std::string(), "the file begins with '' where 'GGUF' is expected");
  refuse(std::string("GGML____________"), "begins with 'GGML' where 'GGUF' is expected");
  refuse(std::string("GGUF"), "ends within its header: at least 4 bytes should follow byte 4");
  refuse(Bytes().start(0, 0, 1), "GGUF version 1 is not supported; expected version 2 or 3");
  refuse(Bytes().start(0, 0, 4), "GGUF version 4 is not supported");
  refuse(Bytes().start(0, 0, 3U << 24), "big-endian");
  expect_bad_input([] { GgufFile::open(fixture("gguf/unsupported.gguf")); },
                   "tensor 'strange' has the type IQ4_NL, which is not supported; supported types: "
                   "F32, F16, BF16, Q8_0");
  refuse(Bytes().start(1, 0).tensor("a", {32}, 99, 0).data(32), "has the type type 99");
}

TEST_F(Gguf, RejectsDamagedHeaders) {
  const auto value = [](uint32_t type) { return Bytes().start(0, 1).text("key").number(type); };
  constexpr auto kHuge = static_cast<uint64_t>(-1);
  // Counts and sizes that exceed the file.
  refuse(Bytes().start(0, kHuge), "ends within its header");
  refuse(Bytes().start(kHuge, 0), "ends within its header");
  refuse(Bytes().start(1 << 20, 0).data(100), "ends within its header");
  refuse(Bytes().start(0, 1).number(kHuge).data(32), "ends within its header");
  refuse(value(8).number(kHuge), "ends within its header");
  refuse(value(9).number(uint32_t{4}).number(kHuge), "ends within its header");
  refuse(value(9).number(uint32_t{8}).number(kHuge), "ends within its header");
  refuse(value(9).number(uint32_t{8}).number(uint64_t{1}).number(kHuge), "ends within its header");
  refuse(Bytes().start(0, 1).text(std::string(70'000, 'k')).data(32),
         "metadata key of 70000 bytes");
  // Metadata.
  refuse(value(13).data(32), "the metadata 'key' has the unknown type 13");
  refuse(value(9).number(uint32_t{9}).number(uint64_t{0}), "is a list of lists");
  refuse(Bytes()
             .start(0, 2)
             .text("k")
             .number(uint32_t{7})
             .number('\1')
             .text("k")
             .number(uint32_t{7})
             .number('\1'),
         "the metadata 'k' occurs twice");
  for (const uint32_t alignment : {0U, 24U, 1U << 21}) {
    refuse(Bytes().start(0, 1).text("general.alignment").number(uint32_t{4}).number(alignment),
           "expected a power of two up to 1048576");
  }
  refuse(Bytes().start(0, 1).text("general.alignment").number(uint32_t{10}).number(uint64_t{64}),
         "'general.alignment' must be an unsigned integer of 32 bits");
  // Tensors.
  refuse(Bytes().start(2, 0).tensor("a", {1}, kF32, 0).tensor("a", {1}, kF32, 32).data(64),
         "the name 'a' occurs twice");
  refuse(Bytes().start(1, 0).tensor("a", std::vector<uint64_t>(9, 1), kF32, 0).data(32),
         "has 9 dimensions; at most 8 are supported");
  for (const std::vector<uint64_t>& extents : {std::vector<uint64_t>{kHuge},
                                               {uint64_t{1} << 32, uint64_t{1} << 32},
                                               {uint64_t{1} << 62}}) {
    refuse(Bytes().start(1, 0).tensor("a", extents, kF32, 0).data(32), "an impossible shape");
  }
  refuse(Bytes().start(1, 0).tensor("a", {30, 32}, kQ40, 0).data(1024),
         "rows of 30 elements, which do not divide into the Q4_0 blocks of 32");
  // Data.
  refuse(Bytes().start(1, 0).tensor("a", {8}, kF32, 0).data(31), "ends within tensor 'a'");
  refuse(Bytes().start(1, 0).tensor("a", {uint64_t{1} << 40}, kF32, 0).data(32),
         "ends within tensor 'a'");
  refuse(Bytes().start(1, 0).tensor("a", {8}, kF32, kHuge - 31).data(32), "ends within tensor 'a'");
  refuse(Bytes().start(1, 0).tensor("a", {1}, kF32, 4).data(64), "multiple of the alignment 32");
  refuse(Bytes().start(2, 0).tensor("a", {9}, kF32, 0).tensor("b", {1}, kF32, 32).data(64),
         "the data of the tensors 'a' and 'b' overlap");
}

TEST_F(Gguf, RejectsOriginalShapesThatDoNotFit) {
  const auto shaped = [](std::vector<int32_t> shape, uint32_t type = 5) {
    Bytes bytes;
    bytes.start(1, 1).text("comfy.gguf.orig_shape.a").number(uint32_t{9}).number(type);
    bytes.number(static_cast<uint64_t>(shape.size()));
    for (const int32_t extent : shape) bytes.number(extent);
    return bytes.tensor("a", {8}, kF32, 0).data(32);
  };
  EXPECT_THAT(open(shaped({2, 2, 2})).info("a").shape, ElementsAre(2, 2, 2));
  refuse(shaped({2, 2}),
         "tensor 'a' is stored as [8], which is not the size of its original shape");
  refuse(shaped({-2, -4}), "which is not the size of its original shape [-2, -4]");
  refuse(shaped({2, 4}, 6), "must be a list of at most 8 integers");
  refuse(shaped(std::vector<int32_t>(9, 1)), "must be a list of at most 8 integers");
}

TEST_F(Gguf, DamageIsDetectedOrHarmless) {
  for (const char* name : {"gguf/version2.gguf", "gguf/layout.gguf"}) {
    sweep_damage(fixture(name), [](const fs::path& path) {
      const GgufFile file = GgufFile::open(path);
      for (const TensorInfo& info : file.tensors()) file.tensor(info.name);
    });
  }
}

TEST_F(Gguf, CheckpointsReadGguf) {
  const Checkpoint file = Checkpoint::open(fixture("gguf/types.gguf"));
  EXPECT_EQ(file.metadata().at("general.architecture"), "wan");
  EXPECT_EQ(file.info("q5_1").file_type(), "Q5_1");
  EXPECT_EQ(file.meta("q5_1").scalar_type(), at::kBFloat16);
  EXPECT_TRUE(same(file.tensor("f32"), ramp({2, 3})));

  // The content determines the format, and the only GGUF file of a folder is found.
  fs::copy_file(fixture("gguf/types.gguf"), folder_ / "weights.bin");
  EXPECT_EQ(Checkpoint::open(folder_ / "weights.bin").names(), file.names());
  fs::rename(folder_ / "weights.bin", folder_ / "model-Q4_0.gguf");
  fs::copy_file(fixture("pth/tensor.pth"), folder_ / "autoencoder.pth");
  EXPECT_EQ(Checkpoint::open(folder_.path()).names(), file.names());
  fs::copy_file(fixture("gguf/types.gguf"), folder_ / "model-Q8_0.gguf");
  expect_bad_input([&] { Checkpoint::open(folder_.path()); }, "has 2 checkpoints");
}

}  // namespace
}  // namespace loci::io
