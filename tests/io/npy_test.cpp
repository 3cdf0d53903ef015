// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/npy.h"

#include <zlib.h>

#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/io/tensors/zip_writer.h"

#include "tensor_testing.h"

namespace loci::io {
namespace {

namespace fs = std::filesystem;

const std::vector<std::pair<std::string, at::ScalarType>> kTypes = {
    {"b1", at::kBool},         {"i1", at::kChar},           {"i2", at::kShort},
    {"i4", at::kInt},          {"i8", at::kLong},           {"u1", at::kByte},
    {"u2", at::kUInt16},       {"u4", at::kUInt32},         {"u8", at::kUInt64},
    {"f2", at::kHalf},         {"f4", at::kFloat},          {"f8", at::kDouble},
    {"c8", at::kComplexFloat}, {"c16", at::kComplexDouble},
};

std::string npy(std::string_view header, std::string_view data, char version = 1) {
  std::string file = "\x93NUMPY";
  file += version;
  file += '\0';
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  if (version > 1) file += std::string(2, '\0');
  return file + std::string(header) + std::string(data);
}

TEST(Npy, ReadsFilesOfNumPy) {
  EXPECT_TRUE(same(read_npy(fixture("npy/poses.npy")), ramp({3, 4, 4})));
  EXPECT_TRUE(same(read_npy(fixture("npy/fortran.npy")), ramp({2, 3, 4}, at::kDouble)));
  EXPECT_TRUE(read_npy(fixture("npy/fortran.npy")).is_contiguous());
  EXPECT_TRUE(same(read_npy(fixture("npy/big_endian.npy")), ramp({2, 3})));
  EXPECT_TRUE(
      same(read_npy(fixture("npy/big_endian_complex.npy")), ramp({2, 3}, at::kComplexDouble)));
  EXPECT_TRUE(same(read_npy(fixture("npy/big_endian_fortran.npy")), ramp({2, 3}, at::kShort)));
  EXPECT_TRUE(same(read_npy(fixture("npy/scalar.npy")), ramp({})));
  EXPECT_TRUE(same(read_npy(fixture("npy/empty.npy")), ramp({0, 4})));
  EXPECT_TRUE(same(read_npy(fixture("npy/version2.npy")), ramp({5}, at::kLong)));
  EXPECT_TRUE(same(read_npy(fixture("npy/version3.npy")), ramp({5}, at::kLong)));
  const at::Tensor special = read_npy(fixture("npy/special.npy"));
  EXPECT_TRUE(std::isnan(special[0].item<float>()));
  EXPECT_TRUE(std::signbit(special[3].item<float>()));

  for (const char* name : {"npy/stored.npz", "npy/deflated.npz"}) {
    const auto arrays = read_npz(fixture(name));
    for (const auto& [key, dtype] : kTypes) {
      EXPECT_TRUE(same(arrays.at(key), ramp({2, 3}, dtype))) << name << " " << key;
    }
  }
  EXPECT_TRUE(same(read_npz(fixture("npy/deflated.npz")).at("zeros"), at::zeros({200, 100})));
  const auto positional = read_npz(fixture("npy/positional.npz"));
  EXPECT_EQ(positional.size(), 2U);
  EXPECT_TRUE(same(positional.at("arr_1"), ramp({3}, at::kDouble)));
}

TEST(Npy, ReadsRows) {
  const TempFolder folder;
  const auto path = folder / "a.npy";
  for (const auto& [key, dtype] : kTypes) {
    const at::Tensor all = ramp({5, 3, 2}, dtype);
    write_npy(path, all);
    EXPECT_TRUE(same(read_npy_rows(path, 1, 3), all.narrow(0, 1, 3))) << key;
    EXPECT_TRUE(same(read_npy_rows(path, 5, 0), all.narrow(0, 5, 0))) << key;
  }
  for (const char* name : {"npy/fortran.npy", "npy/big_endian.npy", "npy/poses.npy"}) {
    const at::Tensor all = read_npy(fixture(name));
    EXPECT_TRUE(same(read_npy_rows(fixture(name), 1, 1), all.narrow(0, 1, 1))) << name;
  }
  expect_bad_input([&] { read_npy_rows(path, 3, 3); },
                   "expected 6 or more entries along the first axis");
  write_npy(path, ramp({}));
  expect_bad_input([&] { read_npy_rows(path, 0, 1); }, "expected 1 or more entries");
}

TEST(Npy, RoundTrips) {
  const TempFolder folder;
  const auto path = folder / "a.npy";
  const auto round_trip = [&](const at::Tensor& tensor) {
    write_npy(path, tensor);
    EXPECT_TRUE(same(read_npy(path), tensor));
    EXPECT_TRUE(same(read_npy_bytes(read_file(path), "memory"), tensor));
  };
  std::map<std::string, at::Tensor> arrays = {{"ü/slash", ramp({2})}, {"empty", ramp({0})}};
  for (const auto& [key, dtype] : kTypes) {
    round_trip(ramp({2, 3}, dtype));
    arrays[key] = ramp({3, 2}, dtype).t();
  }
  round_trip(ramp({}));
  round_trip(ramp({7}));
  round_trip(ramp({0, 3}));
  round_trip(ramp({3, 4, 5}).permute({2, 0, 1}));
  // The same bytes as NumPy writes.
  write_npy(path, ramp({3, 4, 4}));
  EXPECT_EQ(read_file(path), read_file(fixture("npy/poses.npy")));
  write_npy(path, ramp({}));
  EXPECT_EQ(read_file(path), read_file(fixture("npy/scalar.npy")));
  write_npy(path, ramp({0, 4}));
  EXPECT_EQ(read_file(path), read_file(fixture("npy/empty.npy")));

  write_npz(folder / "a.npz", arrays);
  const auto read = read_npz(folder / "a.npz");
  EXPECT_EQ(read.size(), arrays.size());
  for (const auto& [key, tensor] : arrays) EXPECT_TRUE(same(read.at(key), tensor)) << key;
  write_npz(folder / "a.npz", {});
  EXPECT_TRUE(read_npz(folder / "a.npz").empty());

  expect_bad_input([&] { write_npy(path, ramp({2}, at::kBFloat16)); }, "convert it to float32");
  expect_bad_input(
      [&] {
        write_npz(folder / "b.npz", {{"x", ramp({2}, at::kBFloat16)}});
      },
      "b.npz: x: numpy has no type");
  EXPECT_FALSE(fs::exists(folder / "b.npz"));
}

TEST(Npy, RejectsBadArrays) {
  for (const auto& [name, part] :
       std::vector<std::pair<std::string, std::string>>{{"object", "holds Python objects"},
                                                        {"text", "the type '<U2'"},
                                                        {"record", "array of records"},
                                                        {"date", "the type '<M8[D]'"},
                                                        {"long_double", "the type '<f16'"}}) {
    expect_bad_input([&] { read_npy(fixture("npy/" + name + ".npy")); }, part);
  }
  const TempFolder folder;
  const auto refuse = [&](std::string_view content, std::string_view part) {
    SCOPED_TRACE(::testing::PrintToString(std::string(content)));
    expect_bad_input([&] { read_npy_bytes(content, "memory"); }, part);
    const auto path = folder.write("bad.npy", content);
    expect_bad_input([&] { read_npy(path); }, part);
  };
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  EXPECT_NO_THROW(read_npy_bytes(npy(good, "12345678"), "memory"));
  refuse("", "is empty");
  refuse("something else", "not a .npy array");
  refuse("\x93NUMPY", "cut off");
  refuse(npy(good, "").substr(0, 30), "cut off");
  refuse(npy(good, "1234567"), "cut off");
  refuse(npy(good, "123456789"), "damaged");
  refuse(npy(good, "12345678", 4), "version 4");
  refuse(npy(good, "12345678", 0), "version 0");
  refuse(std::string("\x93NUMPY\x02\x00\xff\xff\xff\x7f", 12), "beyond the limit");
  const auto refuse_header = [&](const std::string& header, std::string_view part) {
    refuse(npy(header, "12345678"), part);
  };
  refuse_header("", "header of the array is damaged");
  refuse_header("{}", "damaged");
  refuse_header("{'descr': '<f4', 'shape': (2,)}", "damaged");
  refuse_header("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
                "damaged");
  refuse_header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}", "damaged");
  refuse_header("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", "damaged");
  refuse_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "damaged");
  refuse_header("{'descr': '<f4', 'fortran_order': False, 'shape': (2.5,)}", "damaged");
  refuse_header("{'descr': '<f4', 'fortran_order': False, 'shape': 2}", "damaged");
  refuse_header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", "damaged");
  refuse_header("{'descr': '<f4', 'fortran_order': False, 'shape': (2", "damaged");
  refuse_header("{'descr': '<f4", "damaged");
  refuse_header("{'descr': 'f4', 'fortran_order': False, 'shape': (2,)}", "the type 'f4'");
  refuse_header("{'descr': '', 'fortran_order': False, 'shape': (2,)}", "the type ''");
  refuse_header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
                "damaged");
  refuse_header("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
                "impossible shape");
  refuse_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}", "cut off");
  expect_bad_input([&] { read_npy(folder.path()); }, "is a folder");
  expect_bad_input([&] { read_npy(folder / "none.npy"); }, "No such file");
}

TEST(Npy, RejectsBadArchives) {
  const TempFolder folder;
  const auto refuse = [&](std::string_view content, std::string_view part) {
    const auto path = folder.write("bad.npz", content);
    expect_bad_input([&] { read_npz(path); }, part);
  };
  refuse("", "is empty");
  refuse("something else", "not a .npz archive");
  refuse(read_file(fixture("npy/poses.npy")), "not a .npz archive");
  const std::string stored = read_file(fixture("npy/stored.npz"));
  refuse(stored.substr(0, stored.size() / 2), "truncated or damaged");

  AtomicFile file(folder / "other.npz");
  ZipWriter writer(file);
  writer.begin("readme.txt", 0, 0);
  writer.finish();
  file.commit();
  expect_bad_input([&] { read_npz(folder / "other.npz"); }, "'readme.txt', which is not a .npy");
}

TEST(Npy, SurvivesDamagedFiles) {
  const auto array = [](const fs::path& path) { read_npy(path); };
  const auto archive = [](const fs::path& path) { read_npz(path); };
  sweep_damage(fixture("npy/poses.npy"), array);
  sweep_damage(fixture("npy/big_endian_fortran.npy"), array);
  sweep_damage(fixture("npy/version2.npy"), array);
  sweep_damage(fixture("npy/positional.npz"), archive);
  sweep_damage(fixture("npy/deflated.npz"), archive);
}

}  // namespace
}  // namespace loci::io
