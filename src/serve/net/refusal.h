// SPDX-License-Identifier: Apache-2.0
// What a client may be told: errors that name its mistake and nothing of the server's insides.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "loci/base/error.h"

namespace loci::serve {

// `code` is one of the protocol's: "bad_request", "not_found", "limit", … Any other exception is
// logged here and told as "internal".
class Refusal : public std::runtime_error {
 public:
  Refusal(std::string_view code, const std::string& message)
      : std::runtime_error(message), code_(code) {}
  const std::string& code() const { return code_; }

 private:
  std::string code_;
};

template <typename... Args>
[[noreturn]] void refuse(std::string_view code, fmt::format_string<Args...> format,
                         Args&&... args) {
  throw Refusal(code, fmt::format(format, std::forward<Args>(args)...));
}

// Runs what reads a client's own input, whose complaints hold no secret.
template <typename Function>
auto checked(std::string_view code, Function&& function) {
  try {
    return function();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadInput) throw;
    throw Refusal(code, error.what());
  }
}

// The exception in flight as code and message, logged when it is none of the client's business.
struct Told {
  std::string code, message;
};
Told tell_exception(std::string_view doing);

}  // namespace loci::serve
