// SPDX-License-Identifier: Apache-2.0
#include "loci/app/cli/command.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/log.h"

#include "tests/app/run_command.h"

namespace loci::app {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Visits every command without subcommands, with the words that lead to it.
void for_each_command(const CLI::App& app, const std::vector<std::string>& path,
                      const std::function<void(const CLI::App&, std::vector<std::string>)>& visit) {
  const auto subs = app.get_subcommands(std::function<bool(const CLI::App*)>());
  if (subs.empty()) visit(app, path);
  for (const CLI::App* sub : subs) {
    std::vector<std::string> deeper = path;
    deeper.push_back(sub->get_name());
    for_each_command(*sub, deeper, visit);
  }
}

TEST(Command, HelpListsCommandsInGroups) {
  const Outcome help = run_command({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.err, "");
  for (const char* text :
       {"Usage: loci", "--threads N", "--log-level", "-q,--quiet", "Data:\n", "  trajectory",
        "This machine:\n", "  doctor", "  completion", "  manual"}) {
    EXPECT_THAT(help.out, HasSubstr(text));
  }
  EXPECT_EQ(run_command({}).out, help.out);
  const Outcome version = run_command({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_THAT(version.out, ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Command, RejectsNumbersThatAreNotFiniteOrOutOfRange) {
  const std::vector<std::string> base = {"generate", "--model", "m", "--image", "i.png",
                                         "--trajectory", "w-8", "--out", "o.mp4"};
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--seconds", "nan"},
      {"--seconds", "inf"},
      {"--seconds", "1e999"},
      {"--shift", "nan"},
      {"--guidance", "-inf"},
      {"--seed", "-1"},
      {"--seed", "18446744073709551616"},
      {"--seed", "1.5"},
      {"--seed", ""}};
  for (const auto& [option, value] : cases) {
    SCOPED_TRACE(option + " " + value);
    std::vector<std::string> arguments = base;
    arguments.push_back(option + "=" + value);
    const Outcome outcome = run_command(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr(option));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

TEST(Command, RejectsArgumentsThatAreNotUtf8) {
  const Outcome outcome = run_command({"generate", "--out", "a\xff.mp4"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("argument 3"));
  EXPECT_THAT(outcome.err, HasSubstr("is not valid UTF-8"));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST(Command, EveryHelpHasADescriptionAndExamples) {
  int commands = 0;
  for_each_command(*make_cli(), {}, [&](const CLI::App& app, std::vector<std::string> path) {
    ++commands;
    EXPECT_FALSE(app.get_description().empty()) << full_name(app);
    for (const CLI::Option* option : app.get_options()) {
      EXPECT_FALSE(option->get_description().empty()) << full_name(app) << option->get_name();
    }
    path.emplace_back("--help");
    const Outcome help = run_command(path);
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, HasSubstr("Usage: " + full_name(app)));
    EXPECT_THAT(help.out, HasSubstr("Examples:\n  "));
    EXPECT_THAT(help.out, HasSubstr("loci --help"));
  });
  EXPECT_GE(commands, 3);
}

TEST(Command, ReportsUsageErrorsInOneLine) {
  const auto problem = [](std::vector<std::string> arguments) {
    const Outcome outcome = run_command(std::move(arguments));
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    return outcome.err;
  };
  EXPECT_EQ(
      problem({"trajctory", "show", "a.json"}),
      "loci: error: unknown command 'trajctory' (did you mean 'trajectory'?); choose one of: "
      "demo, generate, train, serve, eval, convert, inspect, verify, trajectory, world, bench, "
      "doctor, completion, manual; try 'loci --help'\n");
  EXPECT_THAT(problem({"zebra"}),
              StartsWith("loci: error: unknown command 'zebra'; choose one of: demo, "));
  EXPECT_EQ(problem({"doctor", "--jsn"}),
            "loci: error: unknown option '--jsn'; did you mean '--json'? "
            "try 'loci doctor --help'\n");
  EXPECT_THAT(problem({"doctor", "--thread=2"}), HasSubstr("did you mean '--threads'?"));
  EXPECT_EQ(problem({"doctor", "now"}),
            "loci: error: unexpected argument 'now'; try 'loci doctor --help'\n");
  EXPECT_THAT(problem({"completion"}), HasSubstr("shell is required"));
  EXPECT_EQ(problem({"trajectory", "mkae"}),
            "loci: error: unknown command 'mkae' (did you mean 'make'?); choose one of: show, "
            "convert, make; try 'loci trajectory --help'\n");
  EXPECT_EQ(problem({"trajectory"}),
            "loci: error: a command is missing; choose one of: show, convert, make; "
            "try 'loci trajectory --help'\n");
  EXPECT_THAT(problem({"--threads", "0", "doctor"}), HasSubstr("--threads: Value 0 not in range"));
  EXPECT_THAT(problem({"--threads", "many", "doctor"}), HasSubstr("--threads"));
  EXPECT_THAT(problem({"--threads"}), HasSubstr("--threads"));
  EXPECT_EQ(problem({"--log-level", "inof", "doctor"}),
            "loci: error: --log-level: unknown value 'inof' (did you mean 'info'?); choose one of: "
            "debug, info, warning, error, off; try 'loci doctor --help'\n");
  // Control characters do not reach the terminal.
  EXPECT_THAT(problem({"a\033[2Jb\nc"}), HasSubstr("unknown command 'a [2Jb c'"));
}

TEST(Command, GlobalOptionsPrecedeOrFollowTheCommand) {
  const int threads = at::get_num_threads();
  EXPECT_EQ(run_command({"completion", "bash", "--threads", "3", "--quiet"}).code, 0);
  EXPECT_EQ(at::get_num_threads(), 3);
  EXPECT_EQ(log_level(), LogLevel::kError);
  EXPECT_EQ(run_command({"--threads", "2", "--log-level", "debug", "completion", "bash"}).code, 0);
  EXPECT_EQ(at::get_num_threads(), 2);
  EXPECT_EQ(log_level(), LogLevel::kDebug);
  ::setenv("LOCI_THREADS", "1", 1);
  ::setenv("LOCI_LOG_LEVEL", "warning", 1);
  EXPECT_EQ(run_command({"completion", "bash"}).code, 0);
  EXPECT_EQ(at::get_num_threads(), 1);
  EXPECT_EQ(log_level(), LogLevel::kWarning);
  ::unsetenv("LOCI_THREADS");
  ::unsetenv("LOCI_LOG_LEVEL");
  at::set_num_threads(threads);
  set_log_level(LogLevel::kInfo);
}

TEST(Command, ShowsOptionsWithoutClutter) {
  CLI::App app("test", "test");
  app.formatter(std::make_shared<HelpFormatter>());
  int number = 7;
  bool flag = false;
  std::string value;
  CLI::Option* counted = app.add_option("--count", number, "how many")
                             ->type_name("N")
                             ->check(CLI::Range(1, 9))
                             ->envname("COUNT")
                             ->capture_default_str();
  app.add_option("--mode", value, "which")->check(one_of({"a", "b"}));
  CLI::Option* simple = app.add_flag("--flag", flag, "whether");
  app.add_option("file", value, "what to read")->required();
  const std::string help = app.help();
  EXPECT_THAT(help,
              HasSubstr("  --count N                   how many (default 7; or set COUNT)\n"));
  EXPECT_THAT(help, HasSubstr("  --mode {a,b}                which\n"));
  EXPECT_THAT(help, HasSubstr("  --flag                      whether\n"));
  EXPECT_THAT(help,
              HasSubstr("Arguments:\n  file                        what to read (required)\n"));
  EXPECT_TRUE(takes_value(*counted));
  EXPECT_FALSE(takes_value(*simple));
}

TEST(Command, FindsTheChoicesOfAnOption) {
  CLI::App app("test", "test");
  std::string value;
  const CLI::Option* free = app.add_option("--free", value);
  const CLI::Option* fixed = app.add_option("--fixed", value)->check(one_of({"a", "b c"}));
  EXPECT_TRUE(choices_of(*free).empty());
  EXPECT_THAT(choices_of(*fixed), ::testing::ElementsAre("a", "b c"));
}

}  // namespace
}  // namespace loci::app
