// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/safetensors.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"

#include "tensor_testing.h"
#include "tests/base/damage.h"

namespace loci::io {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// A file with the given header text and data.
std::string raw_file(std::string_view header, std::string_view data) {
  const uint64_t length = header.size();
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  file += header;
  file += data;
  return file;
}

std::vector<std::string> names_of(const SafetensorsFile& file) {
  std::vector<std::string> names;
  for (const TensorInfo& info : file.tensors()) names.push_back(info.name);
  return names;
}

void read_all(const std::filesystem::path& path) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  for (const TensorInfo& info : file.tensors()) file.tensor(info.name).clone();
}

TEST(Safetensors, ReadsFilesOfThePythonLibrary) {
  const SafetensorsFile file = SafetensorsFile::open(fixture("safetensors/torch.safetensors"));
  const std::vector<std::pair<std::string, at::ScalarType>> types = {
      {"float64", at::kDouble},
      {"float32", at::kFloat},
      {"float16", at::kHalf},
      {"bfloat16", at::kBFloat16},
      {"float8_e4m3fn", at::kFloat8_e4m3fn},
      {"float8_e5m2", at::kFloat8_e5m2},
      {"float8_e4m3fnuz", at::kFloat8_e4m3fnuz},
      {"float8_e5m2fnuz", at::kFloat8_e5m2fnuz},
      {"float8_e8m0fnu", at::kFloat8_e8m0fnu},
      {"complex64", at::kComplexFloat},
      {"int64", at::kLong},
      {"int32", at::kInt},
      {"int16", at::kShort},
      {"int8", at::kChar},
      {"uint64", at::kUInt64},
      {"uint32", at::kUInt32},
      {"uint16", at::kUInt16},
      {"uint8", at::kByte},
      {"bool", at::kBool},
  };
  for (const auto& [name, dtype] : types) {
    EXPECT_TRUE(same(file.tensor(name), ramp({2, 3}, dtype))) << name;
    EXPECT_EQ(file.info(name).bytes, 6 * c10::elementSize(dtype)) << name;
  }
  EXPECT_TRUE(same(file.tensor("scalar"), ramp({})));
  EXPECT_TRUE(same(file.tensor("empty"), ramp({0, 3})));
  EXPECT_TRUE(same(file.tensor("name with \"quotes\", \\ and ü"), ramp({1})));
  EXPECT_EQ(file.tensors().size(), types.size() + 3);
  EXPECT_THAT(file.metadata(), UnorderedElementsAre(Pair("format", "pt"), Pair("note", "ü\n2")));

  const SafetensorsFile numpy = SafetensorsFile::open(fixture("safetensors/numpy.safetensors"));
  EXPECT_TRUE(same(numpy.tensor("a"), ramp({3, 5})));
  EXPECT_TRUE(same(numpy.tensor("b"), ramp({7}, at::kByte)));
  EXPECT_TRUE(same(numpy.tensor("c"), ramp({2, 2}, at::kUInt16)));
  EXPECT_TRUE(numpy.metadata().empty());
}

TEST(Safetensors, RoundTrips) {
  const TempFolder folder;
  const auto path = folder / "round.safetensors";
  const at::Tensor nan = at::full({3}, std::numeric_limits<float>::quiet_NaN());
  const NamedTensors tensors = {
      {"bytes", ramp({3}, at::kByte)},
      {"view", ramp({4, 5}).t()},
      {"half", ramp({2}, at::kHalf)},
      {"double", ramp({2, 2}, at::kDouble)},
      {"scalar", ramp({})},
      {"empty", ramp({0, 7})},
      {"strided", ramp({9}).slice(0, 1, 9, 2)},
      {"ü \"\\\n", ramp({1}, at::kBFloat16)},
      {"nan", nan},
  };
  write_safetensors(path, tensors, {{"loci.config", R"({"a": [1, 2]})"}, {"empty", ""}});
  const SafetensorsFile file = SafetensorsFile::open(path);
  // Large elements come first for alignment; otherwise the order is kept.
  EXPECT_THAT(names_of(file), ElementsAre("double", "view", "scalar", "empty", "strided", "nan",
                                          "half", "ü \"\\\n", "bytes"));
  for (const auto& [name, tensor] : tensors) EXPECT_TRUE(same(file.tensor(name), tensor)) << name;
  EXPECT_THAT(file.metadata(),
              UnorderedElementsAre(Pair("loci.config", R"({"a": [1, 2]})"), Pair("empty", "")));
  // The folder contains only the file.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);

  // A file without tensors is valid.
  write_safetensors(path, {});
  EXPECT_TRUE(SafetensorsFile::open(path).tensors().empty());

  const at::Tensor one = ramp({1});
  expect_bad_input([&] { write_safetensors(path, {{"a", one}, {"a", one}}); }, "given twice");
  expect_bad_input([&] { write_safetensors(path, {{"__metadata__", one}}); }, "reserved");
  expect_bad_input([&] { write_safetensors(path, {{"\xff", one}}); }, "UTF-8");
  expect_bad_input([&] { write_safetensors(path, {{"a", one}}, {{"k", "\xff"}}); }, "UTF-8");
  expect_bad_input(
      [&] {
        write_safetensors(path, {{"a", one.to(at::kComplexDouble)}});
      },
      "no type for tensor 'a'");
  expect_bad_input(
      [&] {
        write_safetensors(folder / "no/a.safetensors", {{"a", one}});
      },
      "does not exist");
}

TEST(Safetensors, TensorsAreCopiesThatOutliveTheFile) {
  const TempFolder folder;
  const auto path = folder / "copied.safetensors";
  write_safetensors(path, {{"a", ramp({100})}});
  std::optional<SafetensorsFile> file = SafetensorsFile::open(path);
  at::Tensor a = file->tensor("a");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.const_data_ptr()) % 64, 0U);
  // Tensors stay valid when the file is replaced by one with the same tensors.
  write_safetensors(path, {{"b", a}});
  file.reset();
  EXPECT_TRUE(same(a, ramp({100})));
  // Writing to a tensor does not change the file.
  at::Tensor b = SafetensorsFile::open(path).tensor("b");
  b.zero_();
  EXPECT_TRUE(same(SafetensorsFile::open(path).tensor("b"), ramp({100})));
  std::filesystem::remove(path);
  EXPECT_TRUE(same(a, ramp({100})));
}

TEST(Safetensors, ChangesOfTheFileDoNotReachItsTensors) {
  const TempFolder folder;
  const auto path = folder / "changed.safetensors";
  for (const auto& change : {testing::overwrite_in_place, testing::truncate_to_nothing}) {
    write_safetensors(path, {{"a", ramp({5000})}});
    testing::make_old(path);
    const SafetensorsFile file = SafetensorsFile::open(path);
    const at::Tensor a = file.tensor("a");
    change(path);
    EXPECT_TRUE(same(a, ramp({5000})));
    expect_bad_input([&] { file.tensor("a"); }, "was modified while it was being read");
    expect_bad_input([&] { file.narrow("a", 0, 1, 2); }, "was modified while it was being read");
  }
}

TEST(Safetensors, ReadsPartsOfATensor) {
  const TempFolder folder;
  const auto path = folder / "parts.safetensors";
  const at::Tensor a = ramp({3, 4, 5}), none = ramp({2, 0});
  write_safetensors(path, {{"a", a}, {"none", none}});
  const SafetensorsFile file = SafetensorsFile::open(path);
  for (int64_t dim = 0; dim < 3; ++dim) {
    for (int64_t start = 0; start < a.size(dim); ++start) {
      const int64_t length = a.size(dim) - start - (start > 0 ? 1 : 0);
      EXPECT_TRUE(same(file.narrow("a", dim, start, length),
                       a.narrow(dim, start, length).contiguous()))
          << dim << ' ' << start;
    }
  }
  EXPECT_TRUE(same(file.narrow("none", 0, 1, 1), none.narrow(0, 1, 1)));
}

TEST(Safetensors, CopiesMisalignedData) {
  const TempFolder folder;
  const at::Tensor a = ramp({3});
  std::string data = "x";
  data.append(static_cast<const char*>(a.const_data_ptr()), a.nbytes());
  const auto path = folder.write(
      "odd.safetensors", raw_file(R"({"u":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                  R"("a":{"dtype":"F32","shape":[3],"data_offsets":[1,13]}})",
                                  data));
  const SafetensorsFile file = SafetensorsFile::open(path);
  EXPECT_TRUE(same(file.tensor("a"), a));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file.tensor("a").const_data_ptr()) % 4, 0U);
  EXPECT_EQ(file.tensor("u").item<int>(), 'x');
}

TEST(Safetensors, OpensAHugeFileWithoutReadingIt) {
  const TempFolder folder;
  const int64_t count = int64_t{10} << 28;  // 10 GiB of floats
  std::string header =
      R"({"big":{"dtype":"F32","shape":[2560,1048576],"data_offsets":[0,10737418240]}})";
  header.resize(120, ' ');  // aligns the data like writers do
  const auto path = folder.write("big.safetensors", raw_file(header, ""));
  ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(8 + header.size() + 4 * count)), 0);
  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);
  const SafetensorsFile file = SafetensorsFile::open(path);
  EXPECT_EQ(file.info("big").bytes, 4 * static_cast<uint64_t>(count));
  EXPECT_EQ(file.narrow("big", 0, 2559, 1)[0][1048575].item<float>(), 0.0F);
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 16 * 1024) << "KiB of memory";
}

TEST(Safetensors, RejectsBadHeaders) {
  const TempFolder folder;
  const auto refuse = [&](std::string_view header, std::string_view data, std::string_view part) {
    const auto path = folder.write("bad.safetensors", raw_file(header, data));
    SCOPED_TRACE(header);
    expect_bad_input([&] { SafetensorsFile::open(path); }, part);
  };
  const auto one = [](std::string_view fields) { return fmt::format(R"({{"a":{{{}}}}})", fields); };
  refuse("", "", "not valid JSON");
  refuse("{", "", "not valid JSON");
  refuse("{} x", "", "not valid JSON");
  refuse("\xff\xff", "", "not valid JSON");
  refuse("[]", "", "a list");
  refuse("3", "", "a number");
  refuse(R"({"a":null})", "", "null at 'a'");
  refuse(R"({"a":[1]})", "", "a list at 'a'");
  refuse(R"({"__metadata__":{"a":1}})", "", "a number");
  refuse(R"({"__metadata__":{"a":{}}})", "", "an object");
  refuse(R"({"__metadata__":{"a":"1","a":"2"}})", "", "metadata key 'a' occurs twice");
  refuse(one(R"("dtype":"U8","shape":[1])"), "x", "needs dtype, shape and two data_offsets");
  refuse(one(R"("shape":[1],"data_offsets":[0,1])"), "x", "needs dtype");
  refuse(one(R"("dtype":"U8","shape":[1],"data_offsets":[0])"), "x", "two data_offsets");
  refuse(one(R"("dtype":"U8","shape":[1],"data_offsets":[0,1,2])"), "x", "a third data offset");
  refuse(one(R"("dtype":"U8","shape":[[1]],"data_offsets":[0,1])"), "x", "a list at 'a'");
  refuse(one(R"("dtype":"U8","shape":[-1],"data_offsets":[0,1])"), "x", "a negative number");
  refuse(one(R"("dtype":"U8","shape":[1.5],"data_offsets":[0,1])"), "x", "a fractional number");
  refuse(one(R"("dtype":"U8","shape":["1"],"data_offsets":[0,1])"), "x", "a string");
  refuse(one(R"("dtype":"U8","shape":true,"data_offsets":[0,1])"), "x", "a truth value");
  refuse(one(R"("dtype":3,"shape":[1],"data_offsets":[0,1])"), "x", "a number");
  refuse(one(R"("dtype":"Q7","shape":[1],"data_offsets":[0,1])"), "x", "type 'Q7'");
  refuse(one(R"("dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1])"), "x", "twice");
  refuse(one(R"("dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1])"), "x", "twice");
  refuse(one(R"("dtype":"U8","shape":[1],"data_offsets":[0,1],"more":1)"), "x", "'more'");
  refuse(one(R"("dtype":"U8","shape":[2],"data_offsets":[0,1])"), "x", "take 2 bytes");
  refuse(one(R"("dtype":"F32","shape":[1],"data_offsets":[0,1])"), "x", "take 4 bytes");
  refuse(one(R"("dtype":"U8","shape":[1],"data_offsets":[1,0])"), "x", "offsets 1 and 0");
  // 2^62 * 4 and 2^63: overflow of the product and of a number
  refuse(one(R"("dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0])"), "",
         "impossible shape");
  refuse(one(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0])"), "",
         "impossible shape");
  refuse(one(R"("dtype":"U8","shape":[0,4294967296,4294967296],"data_offsets":[0,0])"), "",
         "impossible shape");
  refuse(one(R"("dtype":"U8","shape":[1],"data_offsets":[18446744073709551615,0])"), "x",
         "beyond 2^63");
  refuse(one(R"("dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,1])"), "x",
         "a fractional number");
  std::string deep;
  for (int i = 0; i < 65; ++i) deep += i == 0 ? "1" : ",1";
  refuse(one(fmt::format(R"("dtype":"U8","shape":[{}],"data_offsets":[0,1])", deep)), "x",
         "impossible shape");

  const auto two = [](int begin, int end) {
    return fmt::format(R"({{"a":{{"dtype":"U8","shape":[4],"data_offsets":[0,4]}},)"
                       R"("b":{{"dtype":"U8","shape":[2],"data_offsets":[{},{}]}}}})",
                       begin, end);
  };
  refuse(two(2, 4), "1234", "two tensors overlap");
  refuse(two(3, 5), "12345", "two tensors overlap");
  refuse(two(5, 7), "1234567", "a gap before it");
  refuse(two(4, 6), "12345", "ends within tensor 'b'");
  refuse(two(4, 6), "1234567", "1 bytes of data follow");
  refuse(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
         R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
         "x", "'a' occurs twice");
  refuse(R"({"__metadata__":{},"__metadata__":{}})", "", "occurs twice");
  // Names cannot add line breaks to a message.
  refuse("{\"a\\nb\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,1]}}", "x", "'a\\nb'");
  refuse("{\"" + std::string(5000, 'n') + "\":7}", "", "nnn...");
}

TEST(Safetensors, RejectsOtherFiles) {
  const TempFolder folder;
  const auto refuse = [&](std::string_view content, std::string_view part) {
    const auto path = folder.write("bad.safetensors", content);
    expect_bad_input([&] { SafetensorsFile::open(path); }, part);
  };
  refuse("", "0 bytes are too few");
  refuse("1234567", "7 bytes are too few");
  refuse(std::string(64, '\xff'), "exceeds the limit");
  refuse(std::string("\x00\xe1\xf5\x05\x00\x00\x00\x00{}", 10), "ends within its header");
  refuse("PK\x03\x04 this is some other kind of file", "not a safetensors file");
  expect_bad_input([&] { SafetensorsFile::open(folder.path()); }, "is a folder");
  expect_bad_input([&] { SafetensorsFile::open(folder / "none"); }, "No such file");
  expect_bad_input([&] { SafetensorsFile::open("/dev/zero"); }, "not a regular file");

  const auto path = folder.write(
      "bool.safetensors",
      raw_file(R"({"flag":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", "\x01\x02"));
  const SafetensorsFile file = SafetensorsFile::open(path);
  expect_bad_input([&] { file.tensor("flag"); }, "other than 0 and 1");
  expect_bad_input([&] { file.tensor("flat"); }, "the nearest name is 'flag'");
  expect_bad_input([&] { file.info("other"); }, "no tensor 'other'");
}

TEST(Safetensors, SurvivesDamagedFiles) {
  sweep_damage(fixture("safetensors/torch.safetensors"), read_all);
  sweep_damage(fixture("safetensors/numpy.safetensors"), read_all);
}

}  // namespace
}  // namespace loci::io
