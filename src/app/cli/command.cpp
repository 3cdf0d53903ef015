// SPDX-License-Identifier: Apache-2.0
#include "loci/app/cli/command.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <system_error>

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/base/out_of_memory.h"
#include "loci/base/progress.h"
#include "loci/base/terminal.h"
#include "loci/base/text.h"
#include "loci/model/text/utf8.h"

namespace loci::app {

namespace {

constexpr std::array kCommands = {
    Command{"Models", "demo", add_demo},
    Command{"Models", "generate", add_generate},
    Command{"Models", "train", add_train},
    Command{"Models", "serve", add_serve},
    Command{"Models", "eval", add_eval},
    Command{"Models", "convert", add_convert},
    Command{"Models", "inspect", add_inspect},
    Command{"Models", "verify", add_verify},
    Command{"Data", "trajectory", add_trajectory},
    Command{"Data", "world", add_world},
    Command{"This machine", "bench", add_bench},
    Command{"This machine", "doctor", add_doctor},
    Command{"This machine", "completion", add_completion},
    Command{"This machine", "manual", add_manual},
};

constexpr std::string_view kOutOfMemory =
    "out of memory; use a smaller size or close other programs";

// Messages of libtorch continue with a stack trace and hints after the first line.
std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

struct GlobalOptions {
  int threads = 0;
  std::string log_level = "info";
  bool quiet = false;

  void apply() const {
    set_log_level(quiet ? LogLevel::kError : parse_log_level(log_level));
    set_progress_enabled(!quiet);
    if (threads > 0) at::set_num_threads(threads);
  }
};

void add_global_options(CLI::App& app, GlobalOptions& options) {
  app.add_option("--threads", options.threads, "number of CPU threads (default: all cores)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""))
      ->envname("LOCI_THREADS");
  app.add_option("--log-level", options.log_level, "least severe messages to print on stderr")
      ->check(one_of({"debug", "info", "warning", "error", "off"}))
      ->envname("LOCI_LOG_LEVEL")
      ->capture_default_str();
  app.add_flag("-q,--quiet", options.quiet, "print no progress and only errors on stderr");
}

// A command without options of its own only groups subcommands; one of them must follow it.
void require_subcommands(CLI::App& app) {
  const auto all = app.get_subcommands(std::function<bool(CLI::App*)>());
  const auto options =
      app.get_options([&app](const CLI::Option* option) { return option != app.get_help_ptr(); });
  if (!all.empty() && options.empty()) app.require_subcommand(1);
  for (CLI::App* sub : all) require_subcommands(*sub);
}

// Always one line: names from a hostile file may contain line breaks and terminal escapes.
int report(std::string_view kind, std::string_view message, int code) {
  const ProgressPause pause;
  const std::string line = one_line(message);
  const bool colour = wants_colour(STDERR_FILENO);
  // fmt::print() would throw if the reader of stderr has gone.
  std::fputs(
      fmt::format("loci: {} {}\n", coloured(fmt::format("{}:", kind), Colour::kRed, colour), line)
          .c_str(),
      stderr);
  return code;
}

constexpr int kOutputClosed = 128 + SIGPIPE;  // as shells report a process that SIGPIPE ended

// Whether the reader of standard output has gone, as in `loci … | head`.
bool output_closed() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

// A result that could not be written to its file or pipe is a failure. A reader that wants no more
// is not.
int finish_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  const int reason = errno;
  if (output_closed()) return kOutputClosed;
  return report("error", fmt::format("cannot write to standard output: {}", std::strerror(reason)),
                3);
}

int report_usage(const CLI::App& cli, const CLI::ParseError& error) {
  const std::string problem = usage_problem(cli, error);
  return report("error",
                fmt::format("{}{} try '{} --help'", problem, problem.back() == '?' ? "" : ";",
                            full_name(command_reached(cli))),
                2);
}

// Errors of the standard library and of libtorch.
int report_other(const std::exception& error) {
  if (is_out_of_memory(error)) return report("error", kOutOfMemory, 3);
  const auto* torch = dynamic_cast<const c10::Error*>(&error);
  return report("internal error",
                first_line(torch == nullptr ? error.what() : torch->what_without_backtrace()), 1);
}

}  // namespace

std::unique_ptr<CLI::App> make_cli() {
  auto cli = std::make_unique<CLI::App>(
      "Streaming, camera-controlled world models with spatial memory.", "loci");
  cli->formatter(std::make_shared<HelpFormatter>());
  cli->require_subcommand(0, 1);
  cli->fallthrough();  // global options may follow the command; subcommands inherit it
  cli->set_help_flag("-h,--help", "print this help and exit");
  cli->set_version_flag("--version", LOCI_VERSION, "print the version and exit");
  cli->footer(
      "Start with 'loci demo'. 'loci doctor' checks this machine. 'loci COMMAND --help' shows the "
      "options of a command and examples.");
  auto globals = std::make_shared<GlobalOptions>();
  add_global_options(*cli, *globals);
  cli->parse_complete_callback([globals] { globals->apply(); });
  for (const Command& command : kCommands) {
    CLI::App* sub = cli->add_subcommand(std::string(command.name));
    sub->group(std::string(command.group));
    command.add(*sub);
    require_subcommands(*sub);
  }
  return cli;
}

int run(std::vector<std::string> arguments) {
  // Paths and texts are written to JSON files, which are UTF-8.
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (model::is_utf8(arguments[i])) continue;
    return report("error",
                  fmt::format("argument {}, '{}', is not valid UTF-8; rename the file or check the "
                              "encoding of the terminal",
                              i + 1, arguments[i]),
                  2);
  }
  const std::unique_ptr<CLI::App> cli = make_cli();
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 pops from the back
    cli->parse(std::move(arguments));
    if (cli->get_subcommands().empty()) fmt::print("{}", cli->help());
    return finish_output();
  } catch (const CLI::Success& request) {  // --help, --version
    cli->exit(request);
    return finish_output();
  } catch (const CLI::RuntimeError& ended) {  // a child process failed and reported the reason
    return ended.get_exit_code();
  } catch (const CLI::ParseError& error) {
    return report_usage(*cli, error);
  } catch (const Error& error) {
    const bool internal = error.kind() == ErrorKind::kInternal;
    std::fflush(stdout);  // print the results so far before the error
    return report(internal ? "internal error" : "error", error.what(), exit_code(error.kind()));
  } catch (const Interrupted& error) {
    return report("interrupted", "no partial output files are left behind", error.exit_code());
  } catch (const std::filesystem::filesystem_error& error) {
    const int code = error.code().value();
    return report("error", error.what(), code == ENOSPC || code == EDQUOT ? 3 : 2);
  } catch (const std::system_error& error) {
    // fmt::print() throws this error if it cannot write.
    if (std::ferror(stdout) != 0) return finish_output();
    return report_other(error);
  } catch (const std::exception& error) {
    return report_other(error);
  }
}

}  // namespace loci::app
