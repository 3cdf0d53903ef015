// SPDX-License-Identifier: Apache-2.0
#include "loci/app/command.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <new>

#include <ATen/Parallel.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/base/progress.h"
#include "loci/base/text.h"

namespace loci::app {

namespace {

constexpr std::array kCommands = {
    Command{"Data", "trajectory", add_trajectory},
    Command{"Looking around", "doctor", add_doctor},
};

// What libtorch says is long: its own stack trace and hints follow the first line.
std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

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
  app.add_option("--threads", options.threads, "CPU threads (default: all cores)")
      ->check(CLI::Range(1, 1024))
      ->envname("LOCI_THREADS");
  app.add_option("--log-level", options.log_level, "debug, info, warning, error or off")
      ->envname("LOCI_LOG_LEVEL")
      ->capture_default_str();
  app.add_flag("-q,--quiet", options.quiet, "no progress, errors only");
}

// A usage error as one line: what CLI11 says, and where help is.
int report_usage(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  std::string name;
  for (const CLI::App* at = command; at != nullptr; at = at->get_parent()) {
    name = name.empty() ? at->get_name() : at->get_name() + " " + name;
  }
  std::fprintf(stderr, "%s: error: %s; see '%s --help'\n", name.c_str(),
               first_line(error.what()).c_str(), name.c_str());
  return 2;
}

int report(std::string_view kind, std::string_view message, int code) {
  const ProgressPause pause;
  std::fprintf(stderr, "loci: %.*s: %.*s\n", static_cast<int>(kind.size()), kind.data(),
               static_cast<int>(message.size()), message.data());
  return code;
}

}  // namespace

int run(std::vector<std::string> arguments) {
  CLI::App app("Streaming, camera-controlled world models with a spatial memory.", "loci");
  app.require_subcommand(0, 1);
  app.fallthrough();
  app.set_version_flag("--version", LOCI_VERSION);
  app.footer("Start with:  loci doctor\nHelp on one command:  loci COMMAND --help");
  app.get_formatter()->column_width(34);
  GlobalOptions globals;
  add_global_options(app, globals);
  app.parse_complete_callback([&globals] { globals.apply(); });
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(std::string(command.name));
    sub->group(std::string(command.group));
    sub->fallthrough();
    command.add(*sub);
  }

  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 pops from the back
    app.parse(std::move(arguments));
    if (app.get_subcommands().empty()) std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::Success& request) {  // --help, --version
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    return report_usage(app, error);
  } catch (const Error& error) {
    const bool internal = error.kind() == ErrorKind::kInternal;
    return report(internal ? "internal error" : "error", error.what(), exit_code(error.kind()));
  } catch (const Interrupted& error) {
    return report("interrupted", "nothing half written is left behind", error.exit_code());
  } catch (const std::bad_alloc&) {
    return report("error", "out of memory; use a smaller size or free some memory", 3);
  } catch (const c10::Error& error) {
    return report("internal error", first_line(error.what_without_backtrace()), 1);
  } catch (const std::exception& error) {
    return report("internal error", first_line(error.what()), 1);
  }
}

}  // namespace loci::app
