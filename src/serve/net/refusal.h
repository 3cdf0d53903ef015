// SPDX-License-Identifier: Apache-2.0
// Errors that are reported to a client: they name its mistake and no details of the server.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "loci/base/error.h"

namespace loci::serve {

// A request that is refused. `code` is an error code of the protocol: "bad_request", "not_found",
// "limit", …
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

// Runs a function that parses a client's input. Its bad-input errors become refusals.
template <typename Function>
auto checked(std::string_view code, Function&& function) {
  try {
    return function();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadInput) throw;
    throw Refusal(code, error.what());
  }
}

// An error code of the protocol and a message for the client.
struct ErrorReply {
  std::string code, message;
};
// The reply to the exception that is being handled. Exceptions other than refusals are logged with
// `activity`, and the client gets no details.
ErrorReply reply_to_exception(std::string_view activity);

}  // namespace loci::serve
