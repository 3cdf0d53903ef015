// SPDX-License-Identifier: Apache-2.0
#include "loci/base/progress.h"

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/log.h"

#include "tests/base/terminal.h"

namespace loci {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Progress, FormatsALine) {
  const ProgressState state{
      .title = "write", .unit = "frames", .done = 30, .total = 120, .seconds = 10};
  EXPECT_EQ(format_progress(state, 8),
            "write [##......] 30/120 frames (25 %), 3.0 frames/s, 30 s left");
  EXPECT_EQ(format_progress(state, 0), "write 30/120 frames (25 %), 3.0 frames/s, 30 s left");
}

TEST(Progress, FormatsUnusualStates) {
  ProgressState state{.title = "train", .unit = "steps", .total = 1000};
  EXPECT_EQ(format_progress(state, 4), "train [....] 0/1000 steps (0 %)");
  state.done = 999;
  state.seconds = 2997;
  state.note = "loss 0.73";
  // 99.9 % is not complete.
  EXPECT_EQ(format_progress(state, 4),
            "train [###.] 999/1000 steps (99 %), 3.00 s each, 3.00 s left, loss 0.73");
  state.done = 1000;
  EXPECT_EQ(format_progress(state, 4),
            "train [####] 1000/1000 steps (100 %), 3.00 s each, loss 0.73");
  state.done = 1200;  // more than the total
  EXPECT_THAT(format_progress(state, 4), HasSubstr("[####] 1200/1000 steps (100 %)"));
  state = {.title = "read", .unit = "tokens", .done = 50, .seconds = 1};  // total unknown
  EXPECT_EQ(format_progress(state, 4), "read 50 tokens, 50.0 tokens/s");
}

TEST(Progress, TheRateExcludesEarlierRuns) {
  const ProgressState state{.title = "train",
                            .unit = "steps",
                            .done = 110,
                            .total = 200,
                            .done_before = 100,
                            .seconds = 5};
  EXPECT_EQ(format_progress(state, 0), "train 110/200 steps (55 %), 2.0 steps/s, 45 s left");
}

TEST(Progress, PrintsPlainLinesWithoutATerminal) {
  ::testing::internal::CaptureStderr();
  {
    Progress progress("count", 3, "things");
    for (int i = 0; i < 3; ++i) progress.advance();
    progress.set_note("all there");
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("count 3/3 things (100 %)"));
  EXPECT_THAT(text, EndsWith("all there\n"));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
}

TEST(Progress, IsSilentWhenDisabled) {
  ::testing::internal::CaptureStderr();
  set_progress_enabled(false);
  { Progress("count", 3, "things").advance(3); }
  set_progress_enabled(true);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Progress, CountsFromManyThreads) {
  ::testing::internal::CaptureStderr();
  {
    Progress progress("count", 4000, "things");
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&progress] {
        for (int i = 0; i < 1000; ++i) {
          progress.advance();
          const ProgressPause pause;
        }
      });
    }
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("4000/4000"));
}

TEST(Progress, LogLinesReplaceTheBarTemporarily) {
  if (!TerminalOnStderr::available()) GTEST_SKIP() << "no pseudo-terminals here";
  TerminalOnStderr terminal(/*columns=*/60);
  {
    Progress progress("a title that is far too long for such a terminal", 10, "frames");
    std::this_thread::sleep_for(
        std::chrono::milliseconds(110));  // bars are drawn 10 times a second
    progress.advance(5);
    {
      const ProgressPause pause;
      log_info("a line between");
    }
  }
  const std::string text = terminal.text();
  // The bar is drawn and erased, then the line follows, then the bar is drawn again.
  const size_t line = text.find("loci: ");
  ASSERT_NE(line, std::string::npos) << text;
  EXPECT_THAT(text.substr(0, line), HasSubstr("a title"));
  const size_t erased = text.rfind("\r\033[K", line);
  ASSERT_NE(erased, std::string::npos) << text;
  EXPECT_LE(line - erased, 4U + 5U) << text;  // nothing in between but a colour code
  EXPECT_THAT(text.substr(line), HasSubstr("a title"));
  EXPECT_THAT(text, EndsWith("\n"));
  // Nothing between two erasures is as wide as the terminal.
  for (size_t at = text.find("a title"); at != std::string::npos;
       at = text.find("a title", at + 1)) {
    EXPECT_LT(text.find_first_of("\r\n", at) - at, 60U + 2) << text;  // "…" is three bytes
  }
}

}  // namespace
}  // namespace loci
