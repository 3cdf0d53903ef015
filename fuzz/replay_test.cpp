// SPDX-License-Identifier: Apache-2.0
// Runs all seeds and findings of the fuzzers through the same parsers, without libFuzzer.
#include <gtest/gtest.h>

#include "loci/base/file.h"

#include "fuzz/target.h"

namespace loci::fuzz {
namespace {

namespace fs = std::filesystem;

class Replay : public ::testing::TestWithParam<std::string> {
 protected:
  static void TearDownTestSuite() { end(); }
};

TEST_P(Replay, SeedsAndFindings) {
  const Target& target = find_target(GetParam());
  int64_t files = 0;
  for (const char* kind : {"seeds", "found"}) {
    const fs::path folder = fs::path(LOCI_FUZZ_DATA) / kind / target.name;
    if (!fs::exists(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder)) {
      EXPECT_NO_THROW(call(target, read_file(entry.path()))) << entry.path();
      ++files;
    }
  }
  EXPECT_GT(files, 0) << "the target has no seeds";
  EXPECT_NO_THROW(call(target, ""));
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const Target& target : targets()) names.push_back(target.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Replay, ::testing::ValuesIn(names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace loci::fuzz
