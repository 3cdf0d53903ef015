// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/base/text.h"

#include "tests/app/run_command.h"

namespace loci::app {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

class Completion : public ::testing::Test {
 protected:
  Completion() {
    const Outcome outcome = run_command({"completion", "bash"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    write_file(script_, outcome.out);
  }
  ~Completion() override { fs::remove(script_); }

  // The completions that bash offers for the last of `words`, which are split like a command line.
  std::vector<std::string> offered(const std::string& words) const {
    const std::string command = fmt::format(
        "bash -c 'set -eu; source {}; COMP_WORDS=({}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
        "_loci; printf \"%s\\n\" \"${{COMPREPLY[@]}}\"'",
        script_.string(), words);
    FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return {"cannot run bash"};
    std::string text;
    char buffer[256];
    while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
    if (::pclose(pipe) != 0) return {"bash failed"};
    std::vector<std::string> replies;
    for (const std::string_view line : split_whitespace(text)) replies.emplace_back(line);
    return replies;
  }

  const fs::path script_ =
      fs::path(::testing::TempDir()) / ("loci_completion_test_" + std::to_string(::getpid()));
};

TEST_F(Completion, OffersCommandsOptionsAndValues) {
  EXPECT_THAT(offered("loci \"\""), IsSupersetOf({"trajectory", "doctor", "completion"}));
  EXPECT_THAT(offered("loci \"\""), Not(Contains("--help")));
  EXPECT_THAT(offered("loci doc"), ElementsAre("doctor"));
  EXPECT_THAT(offered("loci -"), IsSupersetOf({"--help", "--version", "--threads", "-q"}));
  EXPECT_THAT(offered("loci doctor --j"), ElementsAre("--json"));
  // Global options may follow the command, but not --version.
  EXPECT_THAT(offered("loci doctor -"), IsSupersetOf({"--help", "--threads", "--json"}));
  EXPECT_THAT(offered("loci doctor -"), Not(Contains("--version")));
  EXPECT_THAT(offered("loci completion \"\""), ElementsAre("bash"));
}

TEST_F(Completion, OffersChoicesAfterAnOption) {
  EXPECT_THAT(offered("loci --log-level \"\""),
              ElementsAre("debug", "info", "warning", "error", "off"));
  EXPECT_THAT(offered("loci doctor --log-level w"), ElementsAre("warning"));
  // bash splits words at the equals sign.
  EXPECT_THAT(offered("loci --log-level = d"), ElementsAre("debug"));
  EXPECT_THAT(offered("loci --log-level ="), Contains("off"));
  // A flag takes no value.
  EXPECT_THAT(offered("loci --quiet doc"), ElementsAre("doctor"));
  // Options before the command do not hide it.
  EXPECT_THAT(offered("loci --threads 2 doctor --js"), ElementsAre("--json"));
}

TEST_F(Completion, LeavesFileNamesToBash) {
  EXPECT_THAT(offered("loci --threads \"\""), IsEmpty());
  EXPECT_THAT(offered("loci doctor \"\""), IsEmpty());
}

TEST_F(Completion, CompletesNestedCommands) {
  const auto subs =
      make_cli()->get_subcommand("trajectory")->get_subcommands(std::function<bool(CLI::App*)>());
  ASSERT_FALSE(subs.empty());
  EXPECT_THAT(offered("loci trajectory \"\""), IsSupersetOf({"show", "convert", "make"}));
  EXPECT_THAT(offered("loci trajectory sh"), ElementsAre("show"));
  EXPECT_THAT(offered("loci trajectory show --h"), ElementsAre("--help"));
  EXPECT_THAT(offered("loci trajectory make o"), ElementsAre("orbit_return"));
}

}  // namespace
}  // namespace loci::app
