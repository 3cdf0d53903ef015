// SPDX-License-Identifier: Apache-2.0
// The one exception type of the project and the ways to raise it.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace loci {

// What went wrong decides the exit code of the command line and the status of an HTTP answer.
enum class ErrorKind {
  kBadInput,     // the user's file, option or request: exit code 2
  kCheckFailed,  // a verification did not hold: exit code 1
  kMachine,      // the machine lacks memory, disk, a library: exit code 3
  kInternal,     // a bug of ours: exit code 1
};

// The message is one line that says what is wrong, where, what was expected and what to do.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

int exit_code(ErrorKind kind);

// Bad input, the common case.
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

// Programmer errors at the border of a function: always checked, reported as internal errors.
// Usage: LOCI_CHECK(a.dim() == 3, "a has {} dimensions, expected [tokens, heads, 128]", a.dim());
#define LOCI_CHECK(condition, ...)                                                                \
  do {                                                                                            \
    if (!(condition)) [[unlikely]]                                                                \
      ::loci::detail::internal_error(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
  } while (false)

}  // namespace loci
