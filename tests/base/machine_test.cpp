// SPDX-License-Identifier: Apache-2.0
#include "loci/base/machine.h"

#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

namespace loci {
namespace {

TEST(Machine, ReportsProcessorMemoryAndDisk) {
  const Processor cpu = processor();
  EXPECT_FALSE(cpu.model.empty());
  EXPECT_GE(cpu.cores, 1);
  EXPECT_GE(cpu.threads, 1);

  const std::optional<Memory> found = machine_memory();
  ASSERT_TRUE(found);
  EXPECT_GT(found->available, 0U);
  EXPECT_LE(found->available, found->total);
  EXPECT_GT(found->total, uint64_t{64} << 20);

  EXPECT_GT(free_disk(::testing::TempDir()).value_or(0), 0U);
  EXPECT_FALSE(free_disk("/no/such/folder"));
  EXPECT_TRUE(std::filesystem::exists(program_folder() / "loci_base_tests"));
}

TEST(Machine, ReportsTheMemoryOfTheProcess) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer keeps freed memory";
#endif
  constexpr size_t kSize = size_t{96} << 20;
  return_large_blocks();
  ASSERT_TRUE(reset_peak_memory());
  const ProcessMemory before = process_memory().value();
  EXPECT_GT(before.now, 0U);
  { const std::vector<char> block(kSize, 'x'); }
  const ProcessMemory after = process_memory().value();
  EXPECT_GT(after.peak, before.now + kSize / 10 * 9);
  EXPECT_LT(after.now, before.now + kSize / 2);
  ASSERT_TRUE(reset_peak_memory());
  EXPECT_LT(process_memory().value().peak, before.now + kSize / 2);
}

}  // namespace
}  // namespace loci
