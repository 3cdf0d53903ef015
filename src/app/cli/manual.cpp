// SPDX-License-Identifier: Apache-2.0
// `loci manual`: prints the manual page, generated from all commands and options.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "loci/app/cli/command.h"

namespace loci::app {

namespace {

// Escapes text for roff: hyphens can be copied, and no line is read as a request.
std::string roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    line_begins = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string options_page(const CLI::App& app, const HelpFormatter& formatter) {
  std::string out;
  for (const CLI::Option* option : app.get_options()) {
    if (option == app.get_help_ptr() && app.get_parent() != nullptr) continue;
    const std::string name =
        option->get_positional() ? option->get_name(true, false) : option->get_name(false, true);
    out += fmt::format(".TP\n.B {}{}\n{}\n", roff(name), roff(formatter.make_option_opts(option)),
                       roff(formatter.make_option_desc(option)));
  }
  return out;
}

std::string command_page(const CLI::App& app, const HelpFormatter& formatter) {
  std::string out = fmt::format(".SS {}\n{}\n", roff(full_name(app)), roff(app.get_description()));
  out += options_page(app, formatter);
  if (const std::string footer = app.get_footer(); !footer.empty()) {
    out += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(footer));
  }
  for (const CLI::App* sub : app.get_subcommands(std::function<bool(const CLI::App*)>())) {
    out += command_page(*sub, formatter);
  }
  return out;
}

struct Entry {
  std::string_view term, meaning;
};

std::string section(std::string_view title, const std::vector<Entry>& entries) {
  std::string out = fmt::format(".SH {}\n", title);
  for (const Entry& entry : entries) {
    out += fmt::format(".TP\n.B {}\n{}\n", roff(entry.term), roff(entry.meaning));
  }
  return out;
}

std::string manual(const CLI::App& root) {
  const HelpFormatter formatter;
  std::string out = fmt::format(".TH LOCI 1 \"\" \"loci {}\" \"User commands\"\n", LOCI_VERSION);
  out += fmt::format(".SH NAME\nloci \\- {}\n", roff(root.get_description()));
  out += ".SH SYNOPSIS\n.B loci\n[options] command [arguments]\n";
  out += ".SH OPTIONS\nGlobal options may precede or follow the command.\n";
  out += options_page(root, formatter);
  out += ".SH COMMANDS\n";
  for (const CLI::App* sub : root.get_subcommands(std::function<bool(const CLI::App*)>())) {
    out += command_page(*sub, formatter);
  }
  out += section("EXIT STATUS",
                 {{"0", "success"},
                  {"1", "failed check or internal error"},
                  {"2", "bad input or usage"},
                  {"3", "missing resource of the machine: memory, disk space or a library"},
                  {"130, 143", "interrupted; no partial output files are left behind"}});
  out += section(
      "ENVIRONMENT",
      {{"LOCI_THREADS, LOCI_LOG_LEVEL", "default of --threads and --log-level"},
       {"LOCI_MODELS",
        "folder of model folders, searched first by demo, doctor, generate and serve"},
       {"LOCI_CACHE", "folder for encoded prompts instead of ~/.cache/loci"},
       {"LOCI_ISA",
        "highest instruction set that kernels use: plain, avx2, avx512, avx512_bf16 or amx"},
       {"LOCI_TOKEN", "secret that clients of loci serve must send; --token-file overrides it"},
       {"RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT",
        "set by torchrun or Slurm: this process is one rank of a training or an evaluation"},
       {"NO_COLOR", "print no colours on a terminal"}});
  return out;
}

}  // namespace

void add_manual(CLI::App& app) {
  app.description("Print the manual page");
  app.callback([&app] { fmt::print("{}", manual(*app.get_parent())); });
  examples(app, {{"loci manual | man -l -", "read the manual page"},
                 {"loci manual > /usr/local/share/man/man1/loci.1",
                  "install the manual page for man loci"}});
}

}  // namespace loci::app
