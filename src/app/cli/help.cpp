// SPDX-License-Identifier: Apache-2.0
#include "loci/app/cli/help.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "loci/base/choice.h"
#include "loci/base/text.h"

namespace loci::app {

namespace {

constexpr size_t kColumn = 30;        // column where descriptions begin
constexpr size_t kExampleWidth = 46;  // longer commands get their meaning on the next line

bool is_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

// Names of the subcommands of `app`.
std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands(std::function<bool(const CLI::App*)>())) {
    names.push_back(sub->get_name());
  }
  return names;
}

// Long options that may follow `app`: its own and those of the commands it belongs to.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
    for (const CLI::Option* option : at->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

// A command has too many options to list them in a message; its --help shows them.
std::string unknown_option(std::string_view name, const std::vector<std::string>& known) {
  const std::string_view near = nearest(name, known);
  if (near.empty()) return fmt::format("unknown option '{}'", name);
  return fmt::format("unknown option '{}'; did you mean '{}'?", name, near);
}

}  // namespace

void examples(CLI::App& app, const std::vector<Example>& list) {
  std::string text = "Examples:";
  for (const Example& example : list) {
    const bool fits = example.command.size() <= kExampleWidth;
    text += fmt::format("\n  {:<{}}{}  {}", example.command, kExampleWidth,
                        fits ? "" : fmt::format("\n  {:<{}}", "", kExampleWidth), example.meaning);
  }
  app.footer(text);
}

HelpFormatter::HelpFormatter() {
  column_width(kColumn);
  label("Positionals", "Arguments");
  label("SUBCOMMAND", "COMMAND");
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  const std::string path = app->get_parent() == nullptr ? std::move(name) : full_name(*app);
  return "\n" + CLI::Formatter::make_usage(app, path);
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  if (!option->get_option_text().empty()) return " " + option->get_option_text();
  std::string type = option->get_type_name();
  // Validators follow the type, as in "TEXT:{a,b}" and "N:INT in [1 - 9]". A list of choices
  // replaces the type. A range is left out, since it makes the line hard to read; the error message
  // states it.
  const size_t colon = type.find(':');
  if (colon != std::string::npos) {
    const bool choices = type.compare(colon, 2, ":{") == 0;
    type = choices ? type.substr(colon + 1) : type.substr(0, colon);
  }
  if (type.empty() || option->get_positional()) return "";
  const bool many = option->get_expected_max() >= CLI::detail::expected_max_vector_size;
  return " " + type + (many ? " ..." : "");
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  std::vector<std::string> remarks;
  if (option->get_required()) remarks.emplace_back("required");
  if (const auto choices = choices_of(*option); !choices.empty() && option->get_positional()) {
    remarks.push_back(fmt::format("{}", fmt::join(choices, ", ")));
  }
  if (!option->get_default_str().empty()) remarks.push_back("default " + option->get_default_str());
  if (!option->get_envname().empty()) remarks.push_back("or set " + option->get_envname());
  const std::string& text = option->get_description();
  return remarks.empty() ? text : fmt::format("{} ({})", text, fmt::join(remarks, "; "));
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  std::string footer = CLI::Formatter::make_footer(app);
  if (app->get_parent() != nullptr) {
    footer += "\nGlobal options: --threads N, --log-level LEVEL, --quiet; see 'loci --help'\n";
  }
  return footer;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

CLI::Validator one_of(std::vector<std::string> choices) {
  std::string shown = fmt::format("{{{}}}", fmt::join(choices, ","));
  return CLI::Validator(
      [choices = std::move(choices)](std::string& value) -> std::string {
        if (std::find(choices.begin(), choices.end(), value) != choices.end()) return {};
        return unknown_choice("value", value, choices);
      },
      std::move(shown));
}

CLI::Validator number_in(double low, double high) {
  return CLI::Validator(
      [low, high](std::string& text) -> std::string {
        const std::optional<double> value = parse_double(text);
        if (value && *value >= low && *value <= high) return {};
        return fmt::format("'{}' is out of range; expected a number from {} to {}", text, low,
                           high);
      },
      "");
}

CLI::Validator seed_number() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        uint64_t value = 0;
        const char* end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data(), end, value);
        if (parsed.ec == std::errc() && parsed.ptr == end) return {};
        return fmt::format("'{}' is not an integer from 0 to 2^64 - 1", text);
      },
      "");
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find('{');
  const size_t close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  std::vector<std::string> choices;
  const std::string_view list = std::string_view(type).substr(open + 1, close - open - 1);
  for (const std::string_view piece : split(list, ',')) {
    choices.emplace_back(trim(piece));
  }
  return choices;
}

std::string full_name(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : full_name(*parent) + " " + app.get_name();
}

const CLI::App& command_reached(const CLI::App& root) {
  const CLI::App* at = &root;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

std::string usage_problem(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App& reached = command_reached(root);
  const std::vector<std::string> commands = command_names(reached);
  const std::vector<std::string> leftover = root.remaining(/*recurse=*/true);
  // The first unknown word explains the failure better than the consequence that CLI11 reports.
  if (!leftover.empty() && is_option(leftover.front())) {
    const std::string name = leftover.front().substr(0, leftover.front().find('='));
    return unknown_option(name, option_names(reached));
  }
  const bool needs_command = reached.get_require_subcommand_min() > 0;
  if (!leftover.empty() && (needs_command || reached.get_parent() == nullptr)) {
    return unknown_choice("command", leftover.front(), commands);
  }
  if (!leftover.empty()) return fmt::format("unexpected argument '{}'", leftover.front());
  if (needs_command && error.get_name() == "RequiredError") {
    return fmt::format("a command is missing; choose one of: {}", fmt::join(commands, ", "));
  }
  return one_line(error.what());
}

}  // namespace loci::app
