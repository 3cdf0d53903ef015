// SPDX-License-Identifier: Apache-2.0
// The only exception type of the project, and functions that throw it.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace loci {

// The kind determines the exit code of the command line and the status of an HTTP response.
enum class ErrorKind {
  kBadInput,     // an invalid file, option or request: exit code 2
  kCheckFailed,  // a verification failed: exit code 1
  kMachine,      // not enough memory or disk space, or a missing library: exit code 3
  kInternal,     // a bug in loci: exit code 1
};

// The message is one line: what is wrong, where, what was expected, and what to do.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

int exit_code(ErrorKind kind);

// Throws a bad-input error.
template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::kBadInput, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
[[noreturn]] void fail_check(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::kCheckFailed, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
[[noreturn]] void fail_machine(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::kMachine, fmt::format(format, std::forward<Args>(args)...));
}

namespace detail {
[[noreturn]] void internal_error(const char* file, int line, const char* condition,
                                 const std::string& message);
}

// Checks a precondition of a function in all builds. A failure is an internal error.
// Usage: LOCI_CHECK(a.dim() == 3, "a has {} dimensions, expected [tokens, heads, 128]", a.dim());
#define LOCI_CHECK(condition, ...)                                                                \
  do {                                                                                            \
    if (!(condition)) [[unlikely]]                                                                \
      ::loci::detail::internal_error(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
  } while (false)

}  // namespace loci
