// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/pth.h"

#include <zlib.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/io/tensors/zip_writer.h"

#include "tensor_testing.h"
#include "tests/base/damage.h"

namespace loci::io {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

std::vector<std::string> names_of(const PthFile& file) {
  std::vector<std::string> names;
  for (const TensorInfo& info : file.tensors()) names.push_back(info.name);
  return names;
}

void read_all(const fs::path& path) {
  const PthFile file = PthFile::open(path, /*unwrap=*/false);
  for (const TensorInfo& info : file.tensors()) file.tensor(info.name).clone();
}

// An archive like those of torch.save, with the given entries in "archive/".
fs::path write_archive(const TempFolder& folder,
                       const std::vector<std::pair<std::string, std::string>>& entries) {
  AtomicFile file(folder / "made.pth");
  ZipWriter writer(file);
  for (const auto& [name, content] : entries) {
    const uLong crc = ::crc32(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
    writer.begin("archive/" + name, content.size(), static_cast<uint32_t>(crc));
    file.write(content);
  }
  writer.finish();
  file.commit();
  return file.path();
}

// Pickle code that several cases share.
std::string text(std::string_view value) {
  std::string code = "X";
  for (int i = 0; i < 4; ++i) code += static_cast<char>(value.size() >> (8 * i));
  return code + std::string(value);
}
std::string number(int32_t value) {
  std::string code = "J";
  for (int i = 0; i < 4; ++i) code += static_cast<char>(static_cast<uint32_t>(value) >> (8 * i));
  return code;
}
std::string global(std::string_view module, std::string_view name) {
  return fmt::format("c{}\n{}\n", module, name);
}
std::string storage(std::string_view type, std::string_view key, int32_t count) {
  return "(" + text("storage") + global("torch", type) + text(key) + text("cpu") + number(count) +
         "tQ";
}
// A float tensor over storage "0" of `count` elements.
std::string tensor(int32_t count, int32_t offset, const std::string& shape,
                   const std::string& strides) {
  return global("torch._utils", "_rebuild_tensor_v2") + "(" + storage("FloatStorage", "0", count) +
         number(offset) + shape + strides + "\x89}tR";
}
std::string pickle(const std::string& code) { return "\x80\x02" + code + "."; }

TEST(Pth, ReadsStateDictsAndParameters) {
  const PthFile net = PthFile::open(fixture("pth/state_dict.pth"));
  EXPECT_THAT(names_of(net),
              ElementsAre("table", "proj.weight", "proj.bias", "norm.weight", "norm.bias",
                          "norm.running_mean", "norm.running_var", "norm.num_batches_tracked"));
  EXPECT_TRUE(same(net.tensor("table"), ramp({2, 2}, at::kBFloat16)));
  EXPECT_TRUE(same(net.tensor("proj.weight"), ramp({3, 4})));
  EXPECT_TRUE(same(net.tensor("proj.bias"), ramp({3})));
  EXPECT_EQ(net.tensor("norm.num_batches_tracked").item<int64_t>(), 0);
  EXPECT_EQ(net.info("table").dtype, at::kBFloat16);
  EXPECT_EQ(net.info("table").bytes, 8U);
  expect_bad_input([&] { net.tensor("proj.bia"); }, "nearest name is 'proj.bias'");

  const PthFile parameter = PthFile::open(fixture("pth/parameter.pth"));
  EXPECT_THAT(names_of(parameter), ElementsAre("parameter", "frozen", "attributed"));
  EXPECT_TRUE(same(parameter.tensor("parameter"), ramp({2, 3})));
  EXPECT_TRUE(same(parameter.tensor("frozen"), ramp({3})));
  EXPECT_TRUE(same(parameter.tensor("attributed"), ramp({2})));
  EXPECT_FALSE(parameter.tensor("parameter").requires_grad());

  const PthFile types = PthFile::open(fixture("pth/dtypes.pth"));
  EXPECT_EQ(types.tensors().size(), 19U);
  for (const TensorInfo& info : types.tensors()) {
    EXPECT_TRUE(same(types.tensor(info.name), ramp({2, 3}, info.dtype))) << info.name;
    EXPECT_EQ(info.bytes, 6 * c10::elementSize(info.dtype));
  }
}

TEST(Pth, KeepsViewsOfStoredAndDeflatedStorages) {
  for (const char* name : {"pth/views.pth", "pth/deflated.pth"}) {
    SCOPED_TRACE(name);
    const PthFile file = PthFile::open(fixture(name));
    const at::Tensor base = ramp({4, 6});
    const at::Tensor read = file.tensor("base");
    EXPECT_TRUE(same(read, base));
    EXPECT_TRUE(same(file.tensor("row"), base[1]));
    EXPECT_TRUE(same(file.tensor("column"), base.select(1, 2)));
    EXPECT_TRUE(same(file.tensor("transposed"), base.t()));
    EXPECT_EQ(file.tensor("transposed").strides(), at::IntArrayRef({1, 6}));
    EXPECT_TRUE(same(file.tensor("block"), base.slice(0, 1, 3).slice(1, 2, 5)));
    EXPECT_TRUE(same(file.tensor("expanded"), ramp({1, 3}).expand({4, 3})));
    EXPECT_TRUE(same(file.tensor("half"), ramp({3}, at::kHalf)));
    EXPECT_TRUE(same(file.tensor("empty"), ramp({0, 5})));
    EXPECT_TRUE(same(file.tensor("scalar"), ramp({})));
  }
}

TEST(Pth, ChangesOfTheFileDoNotReachItsTensors) {
  const TempFolder folder;
  for (const char* name : {"views.pth", "deflated.pth"}) {
    const auto path = folder / name;
    std::filesystem::copy_file(fixture(std::string("pth/") + name), path);
    testing::make_old(path);
    const PthFile file = PthFile::open(path);
    const at::Tensor base = file.tensor("base");
    testing::truncate_to_nothing(path);
    EXPECT_TRUE(same(base, ramp({4, 6})));
    expect_bad_input([&] { file.tensor("half"); }, "was modified while it was being read");
  }
}

TEST(Pth, UnwrapsAndFlattens) {
  const std::vector<std::string> weights = {
      "table",     "proj.weight",       "proj.bias",        "norm.weight",
      "norm.bias", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked"};
  EXPECT_EQ(names_of(PthFile::open(fixture("pth/training.pth"))), weights);
  const PthFile all = PthFile::open(fixture("pth/training.pth"), /*unwrap=*/false);
  EXPECT_TRUE(same(all.tensor("model.proj.weight"), ramp({3, 4})));
  EXPECT_TRUE(all.has("optimizer.state.0.exp_avg"));
  EXPECT_EQ(all.tensor("optimizer.state.0.step").item<float>(), 1.0F);

  EXPECT_THAT(names_of(PthFile::open(fixture("pth/nested.pth"))), ElementsAre("a"));
  EXPECT_THAT(names_of(PthFile::open(fixture("pth/nested.pth"), false)),
              ElementsAre("state_dict.module.a", "ema.a"));
  EXPECT_THAT(names_of(PthFile::open(fixture("pth/tensor.pth"))), ElementsAre("tensor"));
  EXPECT_THAT(names_of(PthFile::open(fixture("pth/list.pth"))), ElementsAre("0", "1"));
  for (const char* name : {"pth/no_checksum.pth", "pth/no_checksum5.pth"}) {
    const PthFile file = PthFile::open(fixture(name));
    EXPECT_THAT(names_of(file), ElementsAre("a", "p", "s", "d.t", "d.l.0"));
    EXPECT_TRUE(same(file.tensor("a"), ramp({2, 3})));
    EXPECT_TRUE(same(file.tensor("s"), ramp({2}, at::kUInt16)));
  }
  for (int protocol = 3; protocol <= 5; ++protocol) {
    SCOPED_TRACE(protocol);
    const PthFile file = PthFile::open(fixture(fmt::format("pth/protocol{}.pth", protocol)));
    EXPECT_TRUE(same(file.tensor("net.proj.weight"), ramp({3, 4})));
    EXPECT_TRUE(same(file.tensor("list.0"), ramp({2})));
    EXPECT_TRUE(same(file.tensor("list.1.x"), ramp({3})));
  }
}

// The modules of a program are read like the dictionaries of a state_dict. Its code is ignored.
TEST(Pth, ReadsTheWeightsOfTorchScript) {
  const PthFile file = PthFile::open(fixture("pth/script.pt"));
  EXPECT_TRUE(same(file.tensor("scale"), ramp({})));
  EXPECT_TRUE(same(file.tensor("layers.0.weight"), ramp({3, 2})));
  EXPECT_TRUE(same(file.tensor("layers.0.bias"), ramp({3})));
  EXPECT_TRUE(same(file.tensor("layers.1.weight"), ramp({2, 3}, at::kHalf)));
  EXPECT_TRUE(same(file.tensor("layers.1.bias"), ramp({2}, at::kHalf)));
  EXPECT_TRUE(same(file.tensor("count"), ramp({2}, at::kLong)));
  EXPECT_TRUE(file.has("kept.0"));
  EXPECT_EQ(file.tensors().size(), 7u);
}

TEST(Pth, RejectsFilesWithOtherObjects) {
  const auto refuse = [&](const std::string& name, std::string_view part) {
    SCOPED_TRACE(name);
    expect_bad_input([&] { PthFile::open(fixture("pth/" + name)); }, part);
  };
  refuse("evil.pth", "'posix.system'");
  refuse("evil4.pth", "'posix.system'");
  EXPECT_FALSE(fs::exists("executed"));
  refuse("numpy_scalar.pth", "'numpy._core.multiarray.scalar'");
  refuse("module.pth", "'torch.nn.modules.linear.Linear'");
  refuse("sparse.pth", "'torch._utils._rebuild_sparse_tensor'");
  refuse("conjugate.pth", "lazy conjugate");
  refuse("legacy.pth", "torch.save(torch.load(");

  const TempFolder folder;
  const auto refuse_file = [&](std::string_view content, std::string_view part) {
    const auto path = folder.write("bad.pth", content);
    expect_bad_input([&] { PthFile::open(path); }, part);
  };
  refuse_file("", "is empty");
  refuse_file("just text", "not a file of torch.save");
  refuse_file("PK\x03\x04 and then nothing", "truncated or damaged");
  expect_bad_input([&] { PthFile::open(folder.path()); }, "is a folder");
  expect_bad_input([&] { PthFile::open(fixture("npy/stored.npz")); }, "no entry data.pkl");
  const auto big = write_archive(folder, {{"data.pkl", pickle("}")}, {"byteorder", "big"}});
  expect_bad_input([&] { PthFile::open(big); }, "big-endian");
}

TEST(Pth, RejectsBadPickles) {
  const TempFolder folder;
  const std::string data(16, '\0');  // storage "0": 4 floats
  const auto open = [&](const std::string& program) {
    return PthFile::open(write_archive(folder, {{"data.pkl", program}, {"data/0", data}}));
  };
  const auto refuse = [&](const std::string& program, std::string_view part) {
    SCOPED_TRACE(::testing::PrintToString(program));
    expect_bad_input([&] { open(program); }, part);
  };
  const std::string two = number(2) + number(2) + "\x86";
  const std::string one = number(1) + number(1) + "\x86";
  EXPECT_TRUE(same(open(pickle(tensor(4, 0, two, number(2) + number(1) + "\x86"))).tensor("tensor"),
                   at::zeros({2, 2})));

  // Programs that are truncated, or that use values that they have not created.
  refuse("", "no protocol number");
  refuse("(lp0\n.", "no protocol number");
  refuse("\x80\x01}.", "protocol 1 is unknown");
  refuse("\x80\x02}", "ends too early");
  refuse(pickle(""), "a value is missing");
  refuse(pickle("("), "a value is missing");
  refuse(pickle("t"), "a mark is missing");
  refuse(pickle("\x85"), "a value is missing");
  refuse(pickle("h\x05"), "does not exist");
  refuse(pickle("}(" + text("key") + "u"), "a key has no value");
  refuse(pickle("}Na"), "items are added to a dictionary");
  refuse(pickle("]Nb"), "attributes are set on a list");
  refuse(pickle(text("os") + ")R"), "a text is called");
  refuse(pickle("NN\x93"), "a name is not text");
  refuse(pickle("\x8a\x09"
                "123456789"),
         "more than 64 bits");
  refuse(pickle("X\xff\xff\xff\xff"
                "abc"),
         "ends too early");
  refuse(pickle("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
                "abc"),
         "ends too early");
  refuse(pickle("I42\n"), "the operation 0x49");
  refuse(pickle("ios\nsystem\n("), "the operation 0x69");
  refuse(pickle(global("builtins", "eval")), "'builtins.eval'");
  refuse(pickle(global("__builtin__", "getattr")), "'__builtin__.getattr'");
  refuse(pickle(text("os") + text("system") + "\x93"), "'os.system'");
  refuse(pickle(global("torch", "load")), "'torch.load'");
  refuse(pickle(global("torch", "")), "'torch.'");
  refuse(pickle(global("a\rb\x1b[31m", "c")), "'a\\rb\\u001b[31m.c'");
  refuse(pickle(global("\xff\xfe", "\xc3\xbc")), "'\\ufffd\\ufffd.\\u00fc'");
  refuse(pickle(global("torch", "float32") + ")R"), "call 'torch.float32'");

  // Storages and tensors of inconsistent sizes.
  refuse(pickle(storage("FloatStorage", "0", 5)), "5 elements");
  refuse(pickle(storage("FloatStorage", "0", -4)), "a storage is malformed");
  refuse(pickle(storage("FloatStorage", "1", 4)), "storage '1' is missing");
  refuse(pickle(storage("FloatStorage", "../data.pkl", 4)), "'../data.pkl' is missing");
  refuse(pickle(text("0") + "Q"), "does not refer to a storage");
  refuse(pickle(number(1) + "\x85Q"), "does not refer to a storage");
  refuse(pickle(tensor(4, 0, two, number(3) + number(1) + "\x86")), "[2, 2] does not fit");
  refuse(pickle(tensor(4, 1, two, two)), "does not fit");
  refuse(pickle(tensor(4, -1, one, one)), "does not fit");
  refuse(pickle(tensor(4, 0, two, number(-1) + number(1) + "\x86")), "does not fit");
  refuse(pickle(tensor(4, 0, number(-2) + "\x85", number(1) + "\x85")), "does not fit");
  refuse(pickle(tensor(4, 0, two, number(1) + "\x85")), "does not fit");
  const std::string huge = number(0x7fffffff) + number(0x7fffffff) + number(0x7fffffff) + "\x87";
  refuse(pickle(tensor(4, 0, huge, huge)), "does not fit");
  // Strides of 0 would expand 16 bytes to 8 EiB.
  const std::string wide = number(0x7fffffff) + number(1 << 28) + "\x86";
  refuse(pickle(tensor(4, 0, wide, number(0) + number(0) + "\x86")), "does not fit");
  refuse(pickle(tensor(4, 0, text("ab"), one)), "expected numbers, got a text");
  refuse(pickle(global("torch._utils", "_rebuild_tensor_v2") + ")R"), "too few arguments");
  refuse(pickle(global("torch._utils", "_rebuild_tensor_v2") + "(}NNNtR"),
         "created from a dictionary");
  refuse(pickle(global("torch._utils", "_rebuild_parameter") + "(}\x88}tR"),
         "created from a dictionary");

  // A dictionary in itself, invalid keys, duplicate names, a tree with 2^31 leaves.
  const std::string t = tensor(4, 0, two, two.substr(0, 5) + number(1) + "\x86");
  refuse(pickle("}q\x01" + text("a") + "h\x01s"), "nested more than");
  refuse(pickle("}" + std::string(")") + t + "s"), "a tuple as a key");
  refuse(pickle("}" + text("a.b") + t + "s" + text("a") + "}" + text("b") + t + "ss"),
         "two tensors have the name 'a.b'");
  std::string laughs = "N\x85";
  for (int i = 0; i < 31; ++i) laughs += "2\x86";
  refuse(pickle(laughs), "too many for a checkpoint");
  // A small program that requests much memory.
  std::string copies = "(" + std::string(1'000'000, 'N') + "tq\x01";
  for (int i = 0; i < 300; ++i) copies += global("torch", "Size") + "h\x01\x85R";
  refuse(pickle(copies), "more values than");
}

TEST(Pth, CopiesMisalignedStorages) {
  const TempFolder folder;
  const at::Tensor values = ramp({4});
  const std::string data(static_cast<const char*>(values.const_data_ptr()), 16);
  const std::string shape = number(4) + "\x85";
  for (const char* pad : {"", "1", "12", "123"}) {
    const auto path =
        write_archive(folder, {{"version", pad},
                               {"data.pkl", pickle(tensor(4, 0, shape, number(1) + "\x85"))},
                               {"data/0", data}});
    EXPECT_TRUE(same(PthFile::open(path).tensor("tensor"), values)) << pad;
  }
}

TEST(Pth, SurvivesDamagedFiles) {
  sweep_damage(fixture("pth/views.pth"), read_all);
  sweep_damage(fixture("pth/deflated.pth"), read_all);
  sweep_damage(fixture("pth/protocol4.pth"), read_all);
  // Without a checksum, every changed byte reaches the pickle parser.
  sweep_damage(fixture("pth/no_checksum.pth"), read_all);
  sweep_damage(fixture("pth/no_checksum5.pth"), read_all);
}

}  // namespace
}  // namespace loci::io
