// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/input_file.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tensor_testing.h"
#include "tests/base/damage.h"

namespace loci::io {
namespace {

namespace fs = std::filesystem;

std::string text_of(const SharedBytes& bytes) { return std::string(bytes.view); }

TEST(InputFile, ReadsRanges) {
  const TempFolder folder;
  const InputFile file = InputFile::open(folder.write("file", "0123456789"));
  EXPECT_EQ(file.size(), 10u);
  EXPECT_EQ(text_of(file.read(3, 4)), "3456");
  EXPECT_EQ(text_of(file.read(10, 0)), "");
  EXPECT_EQ(text_of(file.read_all()), "0123456789");
  EXPECT_EQ(text_of(file.head(2)), "01");
  EXPECT_EQ(text_of(file.head(99)), "0123456789");
  EXPECT_EQ(InputFile::open(folder.write("empty", "")).read_all().size(), 0u);
}

TEST(InputFile, RefusesAFileThatWasModifiedAfterItWasOpened) {
  const TempFolder folder;
  for (const auto& change : {testing::overwrite_in_place, testing::truncate_to_nothing}) {
    const fs::path path = folder.write("file", std::string(1000, 'x'));
    testing::make_old(path);
    const InputFile file = InputFile::open(path);
    const SharedBytes before = file.read_all();
    change(path);
    EXPECT_EQ(text_of(before), std::string(1000, 'x'));
    expect_bad_input([&] { file.read(0, 10); }, "was modified while it was being read");
    expect_bad_input([&] { file.hash(); }, "was modified while it was being read");
  }
}

TEST(InputFile, ReadsAReplacedFileToItsEnd) {
  const TempFolder folder;
  const InputFile file = InputFile::open(folder.write("file", "old"));
  folder.write("new", "new");
  fs::rename(folder / "new", folder / "file");
  EXPECT_EQ(text_of(file.read_all()), "old");
  EXPECT_FALSE(InputFile::open(folder / "file").version().same_content(file.version()));
}

TEST(InputFile, TheHashDependsOnEveryByte) {
  const TempFolder folder;
  // More than one block of the hash, not a multiple of its words.
  std::string content((size_t{4} << 20) + 13, 'x');
  const std::string original = InputFile::open(folder.write("file", content)).hash();
  EXPECT_EQ(InputFile::open(folder.write("copy", content)).hash(), original);
  for (const size_t place : {size_t{0}, content.size() / 2, content.size() - 1}) {
    std::string changed = content;
    changed[place] = 'y';
    EXPECT_NE(InputFile::open(folder.write("changed", changed)).hash(), original) << place;
  }
  EXPECT_NE(InputFile::open(folder.write("longer", content + '\0')).hash(), original);
}

}  // namespace
}  // namespace loci::io
