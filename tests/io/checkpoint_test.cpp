// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/io/tensors/safetensors.h"

#include "tensor_testing.h"

namespace loci::io {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

// The names of the files in a folder, sorted.
std::vector<std::string> listing(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Checkpoint, OpensEveryFormat) {
  const Checkpoint sharded = Checkpoint::open(fixture("safetensors/sharded"));
  EXPECT_THAT(sharded.names(), ElementsAre("layer.0.weight", "layer.1.weight", "layer.2.weight",
                                           "layer.3.weight", "layer.4.weight"));
  for (int i = 0; i < 5; ++i) {
    const std::string name = fmt::format("layer.{}.weight", i);
    EXPECT_TRUE(same(sharded.tensor(name), ramp({8, 4}) + i)) << name;
    EXPECT_EQ(sharded.info(name).bytes, 128U);
  }
  EXPECT_EQ(sharded.metadata().at("format"), "pt");
  EXPECT_FALSE(sharded.has("layer.5.weight"));
  expect_bad_input([&] { sharded.tensor("layer.5.weight"); }, "nearest name is 'layer.0.weight'");
  const Checkpoint index =
      Checkpoint::open(fixture("safetensors/sharded/model.safetensors.index.json"));
  EXPECT_EQ(index.names(), sharded.names());
  EXPECT_EQ(index.path(), sharded.path());

  const Checkpoint file = Checkpoint::open(fixture("safetensors/numpy.safetensors"));
  EXPECT_TRUE(same(file.tensor("a"), ramp({3, 5})));
  const Checkpoint pth = Checkpoint::open(fixture("pth/training.pth"));
  EXPECT_TRUE(same(pth.tensor("proj.weight"), ramp({3, 4})));
  EXPECT_TRUE(pth.metadata().empty());

  // The content determines the format, not the suffix. A header of 640 bytes starts like a pickle.
  const TempFolder folder;
  fs::copy_file(fixture("pth/tensor.pth"), folder / "weights.bin");
  EXPECT_TRUE(same(Checkpoint::open(folder / "weights.bin").tensor("tensor"), ramp({2, 3})));
  fs::copy_file(fixture("pth/legacy.pth"), folder / "legacy.bin");
  expect_bad_input([&] { Checkpoint::open(folder / "legacy.bin"); }, "save it again");
  std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  header.resize(640, ' ');
  const auto path = folder.write("weights", std::string("\x80\x02\0\0\0\0\0\0", 8) + header + "x");
  EXPECT_EQ(Checkpoint::open(path).tensor("a").item<int>(), 'x');
}

TEST(Checkpoint, FindsTheFileInAFolder) {
  const TempFolder folder;
  expect_bad_input([&] { Checkpoint::open(folder.path()); }, "has no checkpoint");
  expect_bad_input([&] { Checkpoint::open(folder / "none"); }, "No such file");
  const auto write = [&](const std::string& name) {
    write_safetensors(folder / (name + ".safetensors"), {{name, ramp({1})}});
  };
  fs::copy_file(fixture("pth/tensor.pth"), folder / "some.pth");
  EXPECT_EQ(Checkpoint::open(folder.path()).names(), std::vector<std::string>{"tensor"});
  write("other");
  EXPECT_EQ(Checkpoint::open(folder.path()).names(), std::vector<std::string>{"other"});
  write("another");
  expect_bad_input([&] { Checkpoint::open(folder.path()); }, "has 2 checkpoints");
  EXPECT_EQ(Checkpoint::open(folder.path(), "another").names(),
            std::vector<std::string>{"another"});
  expect_bad_input([&] { Checkpoint::open(folder.path(), "third"); },
                   "neither third.safetensors nor third.safetensors.index.json");
  write("model");
  EXPECT_EQ(Checkpoint::open(folder.path()).names(), std::vector<std::string>{"model"});
  write("diffusion_pytorch_model");
  EXPECT_EQ(Checkpoint::open(folder.path()).names(),
            std::vector<std::string>{"diffusion_pytorch_model"});
}

TEST(Checkpoint, WritesShards) {
  const TempFolder folder;
  NamedTensors tensors;
  for (int i = 0; i < 5; ++i) tensors.emplace_back(fmt::format("t{}", i), ramp({10}) + i);
  tensors.emplace_back("large", ramp({40}));
  tensors.emplace_back("empty", ramp({0}));
  write_sharded_safetensors(folder.path(), "model", tensors, {{"k", "v"}}, 80);
  EXPECT_THAT(listing(folder.path()),
              ElementsAre("model-00001-of-00004.safetensors", "model-00002-of-00004.safetensors",
                          "model-00003-of-00004.safetensors", "model-00004-of-00004.safetensors",
                          "model.safetensors.index.json"));
  const Checkpoint sharded = Checkpoint::open(folder.path());
  EXPECT_EQ(sharded.tensors().size(), tensors.size());
  for (const auto& [name, tensor] : tensors) EXPECT_TRUE(same(sharded.tensor(name), tensor));
  EXPECT_EQ(sharded.metadata().at("k"), "v");
  EXPECT_THAT(read_file(folder / "model.safetensors.index.json"),
              ::testing::HasSubstr("\"total_size\": 360"));

  // The tensors fit one file, so the index of the earlier write is removed.
  write_sharded_safetensors(folder.path(), "model", tensors, {}, 360);
  EXPECT_FALSE(fs::exists(folder / "model.safetensors.index.json"));
  EXPECT_EQ(Checkpoint::open(folder.path()).path().filename(), "model.safetensors");
  // The reverse case.
  write_sharded_safetensors(folder.path(), "model", tensors, {}, 359);
  EXPECT_EQ(Checkpoint::open(folder.path()).path().filename(), "model.safetensors.index.json");
  expect_bad_input(
      [&] {
        write_sharded_safetensors(folder.path(), "m", {tensors[0], tensors[0]}, {}, 1);
      },
      "given twice");
}

TEST(Checkpoint, RejectsBadIndexes) {
  const TempFolder folder;
  write_safetensors(folder / "one.safetensors", {{"a", ramp({1})}, {"b", ramp({1})}});
  write_safetensors(folder / "two.safetensors", {{"c", ramp({1})}});
  const auto index_path = folder / "model.safetensors.index.json";
  const auto refuse = [&](std::string_view text, std::string_view part) {
    folder.write("model.safetensors.index.json", text);
    SCOPED_TRACE(text);
    expect_bad_input([&] { Checkpoint::open(index_path); }, part);
  };
  const auto map = [](std::string_view entries) {
    return fmt::format(R"({{"weight_map":{{{}}}}})", entries);
  };
  refuse("", "not valid JSON");
  refuse("{\"weight_map\":", "not valid JSON");
  refuse("[]", "weight_map");
  refuse("{}", "weight_map");
  refuse(R"({"weight_map":[]})", "weight_map");
  refuse(std::string(300, '['), "levels of nesting");
  refuse(map(R"("a":3)"), "file of 'a' is not a string");
  refuse(map(R"("a":"one.safetensors","a":"one.safetensors")"), "the key 'a' is given twice");
  for (const char* name : {"../one.safetensors", "/etc/passwd", "x/one.safetensors", "..", ".", "",
                           "..\\\\one.safetensors", "one\\u0000.safetensors"}) {
    refuse(map(fmt::format(R"("a":"{}")", name)), "not a plain file name");
  }
  refuse(map(R"("a":"one.safetensors","b":"one.safetensors","c":"three.safetensors")"),
         "the file three.safetensors is missing");
  refuse(map(R"("a":"one.safetensors","b":"one.safetensors","c":"one.safetensors")"),
         "one.safetensors lacks the tensor 'c'");
  refuse(map(R"("a":"one.safetensors","c":"two.safetensors")"),
         "one.safetensors contains the tensor 'b', which the index does not list");
  refuse(map(R"("a":"one.safetensors","b":"two.safetensors","c":"two.safetensors")"),
         "one.safetensors contains the tensor 'b', which the index expects in two.safetensors");
  folder.write("broken.safetensors", "x");
  refuse(map(R"("a":"broken.safetensors")"), "too few");

  folder.write("model.safetensors.index.json",
               map(R"("a":"one.safetensors","b":"one.safetensors","c":"two.safetensors")"));
  sweep_damage(index_path, [&](const fs::path& damaged) {
    fs::copy_file(damaged, folder / "damaged.json", fs::copy_options::overwrite_existing);
    Checkpoint::open(folder / "damaged.json");
  });
}

}  // namespace
}  // namespace loci::io
