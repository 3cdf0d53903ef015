// SPDX-License-Identifier: Apache-2.0
// The `loci` command line: global options, the table of subcommands, errors to exit codes.
#pragma once

#include <string_view>

#include <CLI/CLI.hpp>

namespace loci::app {

// A subcommand fills in its own CLI::App: description, options, examples in the footer, and a
// callback that does the work. The callback reports problems by throwing loci::Error.
struct Command {
  std::string_view group;  // heading in `loci --help`
  std::string_view name;
  void (*add)(CLI::App& app);
};

// One per file of this folder, listed in command.cpp in the order of `loci --help`.
void add_doctor(CLI::App& app);
void add_trajectory(CLI::App& app);

// Parses the arguments (without the program's name), runs the command and returns the exit code:
// 0 done, 1 a check failed, 2 bad input or usage, 3 the machine lacks something, 130 interrupted.
int run(std::vector<std::string> arguments);

}  // namespace loci::app
