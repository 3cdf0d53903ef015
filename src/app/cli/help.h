// SPDX-License-Identifier: Apache-2.0
// How `--help` looks, and one-line messages for commands and options that do not exist.
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

// Puts "Examples:" at the end of a command's help. Every command that does something has some.
void examples(CLI::App& app, const std::vector<Example>& list);

// Shows options as "--threads N  CPU threads (default: …)" and reminds of the global options.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_footer(const CLI::App* app) const override;
};

// Whether an option is followed by a value: a flag is not.
bool takes_value(const CLI::Option& option);

// Values an option accepts if it has a fixed list of them (CLI::IsMember), otherwise none.
std::vector<std::string> choices_of(const CLI::Option& option);

// "loci trajectory show": the command with those it belongs to.
std::string full_name(const CLI::App& app);

// The innermost command that the arguments named before parsing stopped.
const CLI::App& command_reached(const CLI::App& root);

// What to say about arguments that could not be parsed, as one line.
std::string usage_problem(const CLI::App& root, const CLI::ParseError& error);

}  // namespace loci::app
