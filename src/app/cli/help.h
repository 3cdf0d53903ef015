// SPDX-License-Identifier: Apache-2.0
// The layout of `--help`, and one-line messages for arguments that cannot be parsed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace loci::app {

struct Example {
  std::string_view command;
  std::string_view meaning;
};

// Adds "Examples:" to the end of a command's help. Every command with a callback has some.
void examples(CLI::App& app, const std::vector<Example>& list);

// Shows options as "--threads N  number of CPU threads (default 4)". The help of a subcommand ends
// with the global options.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_footer(const CLI::App* app) const override;
};

// False for flags.
bool takes_value(const CLI::Option& option);

// Accepts one of `choices`. The help shows them as {a,b}; the error for another value lists them.
CLI::Validator one_of(std::vector<std::string> choices);

// Accepts finite numbers from `low` to `high`. CLI::Range would accept NaN.
CLI::Validator number_in(double low, double high);

// Accepts integers from 0 to 2^64 - 1. Without it, CLI11 would wrap negative numbers and reduce
// larger ones to the maximum.
CLI::Validator seed_number();

// The values of one_of() if the option has that validator, otherwise none.
std::vector<std::string> choices_of(const CLI::Option& option);

// The command with its parents: "loci trajectory show".
std::string full_name(const CLI::App& app);

// The innermost command that was parsed before parsing stopped.
const CLI::App& command_reached(const CLI::App& root);

// One line that describes why the arguments could not be parsed.
std::string usage_problem(const CLI::App& root, const CLI::ParseError& error);

}  // namespace loci::app
