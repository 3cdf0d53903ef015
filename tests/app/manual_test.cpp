// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/app/cli/command.h"

#include "tests/app/run_command.h"

namespace loci::app {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Manual, HasEveryCommandAndOption) {
  const Outcome manual = run_command({"manual"});
  ASSERT_EQ(manual.code, 0);
  EXPECT_THAT(manual.out, StartsWith(".TH LOCI 1"));
  const auto roff = [](std::string text) {
    for (size_t at = 0; (at = text.find('-', at)) != std::string::npos; at += 2) {
      text.insert(at, 1, '\\');
    }
    return text;
  };
  const std::function<void(const CLI::App&)> check = [&](const CLI::App& app) {
    for (const CLI::App* sub : app.get_subcommands(std::function<bool(const CLI::App*)>())) {
      EXPECT_THAT(manual.out, HasSubstr(".SS " + full_name(*sub) + "\n"));
      for (const CLI::Option* option : sub->get_options()) {
        if (option == sub->get_help_ptr() || option->get_lnames().empty()) continue;
        EXPECT_THAT(manual.out, HasSubstr(roff("--" + option->get_lnames().front())));
      }
      check(*sub);
    }
  };
  check(*make_cli());
  // roff would read a line that begins with a dot as a request.
  EXPECT_EQ(manual.out.find("\n.."), std::string::npos);
}

}  // namespace
}  // namespace loci::app
