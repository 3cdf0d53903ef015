// SPDX-License-Identifier: Apache-2.0
#include "loci/base/error.h"

#include <cerrno>
#include <new>
#include <system_error>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/out_of_memory.h"

#include "tests/base/expect_error.h"

namespace loci {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Error, HasAKindAndAnExitCode) {
  EXPECT_BAD_INPUT(fail("{} is {}", "a", 5), ::testing::StrEq("a is 5"));
  EXPECT_MACHINE_ERROR(fail_machine("no {}", "disk"), ::testing::StrEq("no disk"));
  LOCI_EXPECT_ERROR(fail_check("off by {}", 2), kCheckFailed, ::testing::StrEq("off by 2"));
  EXPECT_EQ(exit_code(ErrorKind::kCheckFailed), 1);
  EXPECT_EQ(exit_code(ErrorKind::kInternal), 1);
  EXPECT_EQ(exit_code(ErrorKind::kBadInput), 2);
  EXPECT_EQ(exit_code(ErrorKind::kMachine), 3);
}

TEST(Error, RecognisesALackOfMemory) {
  EXPECT_TRUE(is_out_of_memory(std::bad_alloc()));
  EXPECT_TRUE(is_out_of_memory(std::system_error(ENOMEM, std::generic_category())));
  EXPECT_TRUE(is_out_of_memory(std::runtime_error("DefaultCPUAllocator: can't allocate memory")));
  EXPECT_FALSE(is_out_of_memory(std::system_error(ENOSPC, std::generic_category())));
  EXPECT_FALSE(is_out_of_memory(std::runtime_error("broken")));
}

TEST(Error, ChecksReportTheirLocation) {
  int evaluated = 0;
  const auto check = [&evaluated](bool good) {
    LOCI_CHECK(good, "evaluated {} times", ++evaluated);
  };
  check(true);
  EXPECT_EQ(evaluated, 0);  // the message is formatted only on failure
  EXPECT_INTERNAL_ERROR(check(false), AllOf(HasSubstr("evaluated 1 times"),
                                            HasSubstr("good is false at error_test.cpp:")));
}

}  // namespace
}  // namespace loci
