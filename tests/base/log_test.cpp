// SPDX-License-Identifier: Apache-2.0
#include "loci/base/log.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/terminal.h"

#include "tests/base/expect_error.h"
#include "tests/base/terminal.h"

namespace loci {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string all_levels() {
  ::testing::internal::CaptureStderr();
  log_debug("d{}", 1);
  log_info("i{}", 2);
  log_warning("w{}", 3);
  log_error("e{}", 4);
  return ::testing::internal::GetCapturedStderr();
}

TEST(Log, RespectsTheLevel) {
  const LogLevel before = log_level();
  set_log_level(LogLevel::kDebug);
  EXPECT_EQ(all_levels(), "loci: debug: d1\nloci: info: i2\nloci: warning: w3\nloci: error: e4\n");
  set_log_level(LogLevel::kWarning);
  EXPECT_EQ(all_levels(), "loci: warning: w3\nloci: error: e4\n");
  set_log_level(LogLevel::kOff);
  EXPECT_EQ(all_levels(), "");
  set_log_level(before);
}

TEST(Log, WritesEachMessageAsOneLine) {
  ::testing::internal::CaptureStderr();
  log_warning("{}", "a name\nwith a break and \033[31mcolour {}");
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(text, "loci: warning: a name with a break and  [31mcolour {}\n");
}

TEST(Log, ParsesLevels) {
  EXPECT_EQ(parse_log_level("debug"), LogLevel::kDebug);
  EXPECT_EQ(parse_log_level("info"), LogLevel::kInfo);
  EXPECT_EQ(parse_log_level("warning"), LogLevel::kWarning);
  EXPECT_EQ(parse_log_level("error"), LogLevel::kError);
  EXPECT_EQ(parse_log_level("off"), LogLevel::kOff);
  EXPECT_BAD_INPUT(parse_log_level("loud"),
                   HasSubstr("unknown log level 'loud'; choose one of: debug"));
}

TEST(Terminal, NoColorDisablesColours) {
  if (!TerminalOnStderr::available()) GTEST_SKIP() << "no pseudo-terminals here";
  EXPECT_EQ(coloured("a", Colour::kRed, false), "a");
  EXPECT_EQ(coloured("a", Colour::kRed, true), "\033[31ma\033[0m");
  TerminalOnStderr terminal(80);
  ::unsetenv("NO_COLOR");
  EXPECT_TRUE(wants_colour(STDERR_FILENO));
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(wants_colour(STDERR_FILENO));
  EXPECT_TRUE(is_smart_terminal(STDERR_FILENO));
  ::setenv("NO_COLOR", "", 1);  // empty counts as unset
  EXPECT_TRUE(wants_colour(STDERR_FILENO));
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(is_smart_terminal(STDERR_FILENO));
  ::setenv("TERM", "xterm", 1);
}

}  // namespace
}  // namespace loci
