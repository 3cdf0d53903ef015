// SPDX-License-Identifier: Apache-2.0
// `loci completion bash`: a completion script made from the tree of commands.
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "loci/app/cli/command.h"

namespace loci::app {

namespace {

std::vector<const CLI::App*> children(const CLI::App& app) {
  return app.get_subcommands(std::function<bool(const CLI::App*)>());
}

std::vector<std::string> names(const CLI::Option& option) {
  std::vector<std::string> all;
  for (const std::string& name : option.get_snames()) all.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) all.push_back("--" + name);
  return all;
}

// Subcommands and fixed values of arguments. Where there are none, the shell completes file names.
std::vector<std::string> words_after(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* sub : children(app)) words.push_back(sub->get_name());
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    for (const std::string& choice : choices_of(*option)) words.push_back(choice);
  }
  return words;
}

// Options a command accepts by their names: its own and those of the commands it belongs to, whose
// --help and --version it does not share.
std::vector<std::pair<std::string, const CLI::Option*>> options_after(const CLI::App& app) {
  std::vector<std::pair<std::string, const CLI::Option*>> options;
  std::set<std::string> taken;  // an option hides those of the same name further out
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
    for (const CLI::Option* option : at->get_options()) {
      const bool own = option == at->get_help_ptr() || option == at->get_version_ptr();
      if (at != &app && own) continue;
      for (const std::string& name : names(*option)) {
        if (taken.insert(name).second) options.emplace_back(name, option);
      }
    }
  }
  return options;
}

// Branches of the script's case statements. A command is written as its path
// "loci/trajectory/show".
struct Branches {
  std::string steps;   // which words lead from a command to a subcommand
  std::string words;   // what may follow a command
  std::string values;  // what may follow an option that takes a value
};

void collect(const CLI::App& app, const std::string& path, Branches& branches) {
  std::vector<std::string> options;
  for (const auto& [name, option] : options_after(app)) {
    options.push_back(name);
    if (!takes_value(*option)) continue;
    branches.values += fmt::format("    '{} {}') words='{}' ;;\n", path, name,
                                   fmt::join(choices_of(*option), " "));
  }
  branches.words += fmt::format("    {}) words='{}' options='{}' ;;\n", path,
                                fmt::join(words_after(app), " "), fmt::join(options, " "));
  for (const CLI::App* sub : children(app)) {
    const std::string deeper = path + "/" + sub->get_name();
    branches.steps += fmt::format("      {}) path=$path/$word ;;\n", deeper);
    collect(*sub, deeper, branches);
  }
}

std::string bash_script(const CLI::App& root) {
  Branches branches;
  collect(root, root.get_name(), branches);
  return fmt::format(R"(# bash completion for loci, made by 'loci completion bash'
_loci() {{
  local path=loci word words options
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  # bash makes three words of --option=value
  if [ "$current" = = ]; then
    current=
  elif [ "$previous" = = ]; then
    previous=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case $path/$word in
{}    esac
  done
  case $path in
{}  esac
  [[ $current != -* ]] || words=$options
  case "$path $previous" in
{}  esac
  # Nothing to offer means that the shell completes file names.
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}
complete -o bashdefault -o default -F _loci loci
)",
                     branches.steps, branches.words, branches.values);
}

const CLI::App& root_of(const CLI::App& app) {
  const CLI::App* at = &app;
  while (at->get_parent() != nullptr) at = at->get_parent();
  return *at;
}

}  // namespace

void add_completion(CLI::App& app) {
  app.description("Print a completion script for a shell");
  auto shell = std::make_shared<std::string>();
  app.add_option("shell", *shell, "the shell")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>{"bash"}));
  app.callback([&app, shell] { fmt::print("{}", bash_script(root_of(app))); });
  examples(app, {{"source <(loci completion bash)", "completion in this shell"},
                 {"loci completion bash > ~/.local/share/bash-completion/completions/loci",
                  "completion in every new shell"}});
}

}  // namespace loci::app
