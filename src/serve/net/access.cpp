// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/net/access.h"

#include <algorithm>

#include "loci/base/error.h"
#include "loci/base/text.h"
#include "loci/serve/protocol/ids.h"

namespace loci::serve {

namespace {

constexpr std::string_view kCookie = "loci_token";
constexpr size_t kShortestToken = 16;

// "localhost:8080" → "localhost"; "[::1]:80" → "::1".
std::string_view host_name(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

std::string cookie_value(const std::string& header, std::string_view name) {
  for (const std::string_view pair : split(header, ';')) {
    const std::string_view trimmed = trim(pair);
    if (trimmed.starts_with(name) && trimmed.substr(name.size()).starts_with('=')) {
      return std::string(trimmed.substr(name.size() + 1));
    }
  }
  return "";
}

}  // namespace

void check_token(std::string_view token, std::string_view source) {
  if (token.empty()) {
    fail("{} contains no token; write a secret of at least {} characters there", source,
         kShortestToken);
  }
  const bool plain = std::all_of(token.begin(), token.end(), [](char c) {
    return c >= '!' && c <= '~' && c != ';' && c != ',' && c != '"' && c != '\\';
  });
  if (!plain) {
    fail("the token of {} has a character that is not allowed in cookies; use letters and digits",
         source);
  }
  if (token.size() < kShortestToken) {
    fail("the token of {} has {} characters; use at least {}", source, token.size(),
         kShortestToken);
  }
}

bool is_loopback(std::string_view address) {
  // Only digits and dots: "127.evil.org" is a host name, not an address. Host names have no case.
  return lower(address) == "localhost" || address == "::1" ||
         (address.starts_with("127.") &&
          address.find_first_not_of("0123456789.") == std::string_view::npos);
}

bool Access::token_is(std::string_view token) const {
  return has_token() && equal_secrets(token, *options_.token);
}

bool Access::authorised(const HttpRequest& request) const {
  if (!has_token()) return true;
  const std::string header = request.header("authorization");
  constexpr std::string_view kBearer = "bearer ";
  if (lower(std::string_view(header).substr(0, kBearer.size())) == kBearer) {
    return token_is(trim(std::string_view(header).substr(kBearer.size())));
  }
  return token_is(cookie_value(request.header("cookie"), kCookie));
}

bool Access::origin_allowed(const HttpRequest& request) const {
  const std::string origin = request.header("origin");
  if (origin.empty()) return true;
  if (std::find(options_.origins.begin(), options_.origins.end(), origin) !=
      options_.origins.end()) {
    return true;
  }
  // Browsers send origins in lower case.
  const std::string host = lower(request.header("host"));
  return !host.empty() && (origin == "http://" + host || origin == "https://" + host);
}

bool Access::host_allowed(const HttpRequest& request) const {
  if (has_token() || !options_.loopback) return true;
  const std::string host = lower(request.header("host"));
  if (is_loopback(host_name(host))) return true;
  return std::any_of(options_.origins.begin(), options_.origins.end(),
                     [&](const std::string& origin) { return origin.ends_with("://" + host); });
}

std::string Access::cookie() const {
  return fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000", kCookie,
                     *options_.token);
}

}  // namespace loci::serve
