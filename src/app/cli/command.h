// SPDX-License-Identifier: Apache-2.0
// The `loci` command line: global options, the table of subcommands, errors to exit codes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "loci/app/cli/help.h"

namespace loci::app {

// A subcommand fills in its own CLI::App: description, options, examples() and a callback that does
// the work. Callbacks print results to stdout and report problems by throwing loci::Error.
struct Command {
  std::string_view group;  // heading in `loci --help`
  std::string_view name;
  void (*add)(CLI::App& app);
};

// One per file of this folder, listed in command.cpp in the order of `loci --help`.
void add_bench(CLI::App& app);
void add_completion(CLI::App& app);
void add_convert(CLI::App& app);
void add_doctor(CLI::App& app);
void add_eval(CLI::App& app);
void add_demo(CLI::App& app);
void add_generate(CLI::App& app);
void add_train(CLI::App& app);
void add_inspect(CLI::App& app);
void add_manual(CLI::App& app);
void add_serve(CLI::App& app);
void add_trajectory(CLI::App& app);
void add_verify(CLI::App& app);
void add_world(CLI::App& app);

// The tree of all commands, ready to parse.
std::unique_ptr<CLI::App> make_cli();

// Parses the arguments (without the program's name), runs the command and returns the exit code:
// 0 done, 1 a check failed, 2 bad input or usage, 3 the machine lacks something, 130 interrupted.
int run(std::vector<std::string> arguments);

}  // namespace loci::app
