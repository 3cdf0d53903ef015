// SPDX-License-Identifier: Apache-2.0
// Who may do what: the token, the origin of pages, the names this server answers to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "loci/serve/net/http_message.h"

namespace loci::serve {

struct AccessOptions {
  std::string token;                 // empty: none is needed
  std::vector<std::string> origins;  // of other pages that may use the server: "https://a.org"
  bool loopback = true;              // bound to this machine alone
};

class Access {
 public:
  explicit Access(AccessOptions options) : options_(std::move(options)) {}

  bool has_token() const { return !options_.token.empty(); }
  bool token_is(std::string_view token) const;
  // By header or cookie.
  bool authorised(const HttpRequest& request) const;
  // Whether a browser's page may do this: none of another origin. Requests without an Origin come
  // from programs and pass.
  bool origin_allowed(const HttpRequest& request) const;
  // Without a token, a name that some page made point here must not count as its own origin: only
  // names of this machine are answered.
  bool host_allowed(const HttpRequest& request) const;
  // For the answer to the right token.
  std::string cookie() const;

 private:
  AccessOptions options_;
};

// Whether an address to bind to is reached from this machine alone.
bool is_loopback(std::string_view address);

}  // namespace loci::serve
