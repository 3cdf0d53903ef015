// SPDX-License-Identifier: Apache-2.0
// The head of an HTTP request: request line and header fields. It is parsed strictly, so that a
// proxy and this server never disagree about where a request ends or which host it is for (RFC
// 9112).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "loci/serve/net/http_message.h"

namespace loci::serve {

// Finds the end of a head in bytes that arrive in pieces.
class HeadScanner {
 public:
  // `bytes`: everything received so far; it only grows between calls. Returns the size of the head
  // including its empty line, nothing if more bytes are needed. Line ends other than CR LF and
  // control characters are refused ("bad_request") as soon as they arrive.
  std::optional<size_t> find_end(std::string_view bytes);

 private:
  size_t at_ = 0;          // bytes that were examined
  size_t line_begin_ = 0;  // of the line that contains them
};

struct RequestHead {
  HttpRequest request;  // without its body
  bool has_body = false;
  bool expects_continue = false;     // the client waits for "100 Continue" before it sends the body
  bool unknown_expectation = false;  // to be answered with 417
};

// Parses a head that HeadScanner has found. Refused ("bad_request"):
// - malformed lines: spaces before a colon, folded fields, characters that are not allowed
// - a Transfer-Encoding other than `chunked`, or together with Content-Length, or in HTTP/1.0
// - a Content-Length that is not one decimal number
// - a Host that is missing (HTTP/1.1) or malformed
// - Host, Origin, Authorization and other fields with a single value that occur twice
// Other repeated fields are joined to a list. A target in absolute form, "http://host/path",
// becomes the path, and its host replaces that of the field.
RequestHead parse_head(std::string_view head);

}  // namespace loci::serve
