// SPDX-License-Identifier: Apache-2.0
// The `loci` command line: global options, the table of commands, exit codes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "loci/app/cli/help.h"

namespace loci::app {

// `add` fills in the CLI::App of a command: description, options, examples() and a callback.
// Callbacks print results to stdout and throw loci::Error.
struct Command {
  std::string_view group;  // heading in `loci --help`
  std::string_view name;
  void (*add)(CLI::App& app);
};

// Defined in one file each, in the subfolders of src/app. command.cpp lists them in the order of
// `loci --help`.
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

// All commands with their options, ready to parse.
std::unique_ptr<CLI::App> make_cli();

// Parses the arguments (without the program's name), runs the command and returns the exit code:
// 0 success, 1 failed check or internal error, 2 bad input or usage, 3 missing resource of the
// machine (memory, disk, library), 130 or 143 interrupted.
int run(std::vector<std::string> arguments);

}  // namespace loci::app
