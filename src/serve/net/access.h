// SPDX-License-Identifier: Apache-2.0
// Access control: the token, the origins of pages, the host names of this server.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loci/serve/net/http_message.h"

namespace loci::serve {

struct AccessOptions {
  std::optional<std::string> token;  // nothing: no token is required; see check_token()
  std::vector<std::string> origins;  // of other pages that may use the server: "https://a.org"
  bool loopback = true;              // the server is bound to a loopback address
};

class Access {
 public:
  explicit Access(AccessOptions options) : options_(std::move(options)) {}

  bool has_token() const { return options_.token.has_value(); }
  bool token_is(std::string_view token) const;
  // The request has the token in its Authorization header or in its cookie.
  bool authorised(const HttpRequest& request) const;
  // False for requests from a page of another origin. Requests without an Origin header come from
  // programs and are allowed.
  bool origin_allowed(const HttpRequest& request) const;
  // Without a token, only host names of this machine are allowed. Otherwise a page could point a
  // host name of its own to this server and pass the origin check (DNS rebinding).
  bool host_allowed(const HttpRequest& request) const;
  // The Set-Cookie header for a client that has sent the right token.
  std::string cookie() const;

 private:
  AccessOptions options_;
};

// A token that is empty, short or not allowed in a cookie is bad input. `source` is where the token
// came from, such as "$LOCI_TOKEN"; the error names it and never the token.
void check_token(std::string_view token, std::string_view source);

// Whether an address to bind to can be reached from this machine only.
bool is_loopback(std::string_view address);

}  // namespace loci::serve
