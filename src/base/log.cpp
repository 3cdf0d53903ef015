// SPDX-License-Identifier: Apache-2.0
#include "loci/base/log.h"

#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "loci/base/choice.h"
#include "loci/base/error.h"
#include "loci/base/progress.h"
#include "loci/base/terminal.h"
#include "loci/base/text.h"

namespace loci {

namespace {

std::atomic<LogLevel> current_level{LogLevel::kInfo};

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::info;
}

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(
        wants_colour(STDERR_FILENO) ? spdlog::color_mode::always : spdlog::color_mode::never);
    auto made = std::make_shared<spdlog::logger>("loci", sink);
    made->set_pattern("%^loci: %l:%$ %v");
    made->set_level(spdlog::level::trace);  // log_message() filters by level
    return made;
  }();
  return *instance;
}

}  // namespace

LogLevel parse_log_level(std::string_view name) {
  constexpr std::string_view kNames[] = {"debug", "info", "warning", "error", "off"};
  return static_cast<LogLevel>(choice_index("log level", name, kNames));
}

void set_log_level(LogLevel level) { current_level = level; }
LogLevel log_level() { return current_level; }

void log_message(LogLevel level, std::string_view message) {
  if (level < current_level.load() || level == LogLevel::kOff) return;
  const ProgressPause pause;  // removes the progress bar while the line is written
  logger().log(to_spdlog(level), "{}", one_line(message));
  logger().flush();
}

}  // namespace loci
