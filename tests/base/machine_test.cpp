// SPDX-License-Identifier: Apache-2.0
#include "loci/base/machine.h"

#include <filesystem>

#include <gtest/gtest.h>

namespace loci {
namespace {

TEST(Machine, TellsWhatItHas) {
  const Processor cpu = processor();
  EXPECT_FALSE(cpu.model.empty());
  EXPECT_GE(cpu.cores, 1);
  EXPECT_GE(cpu.threads, 1);

  const std::optional<Memory> found = memory();
  ASSERT_TRUE(found);
  EXPECT_GT(found->available, 0U);
  EXPECT_LE(found->available, found->total);
  EXPECT_GT(found->total, uint64_t{64} << 20);

  EXPECT_GT(free_disk(::testing::TempDir()).value_or(0), 0U);
  EXPECT_FALSE(free_disk("/no/such/folder"));
  EXPECT_TRUE(std::filesystem::exists(program_folder() / "loci_base_tests"));
}

}  // namespace
}  // namespace loci
