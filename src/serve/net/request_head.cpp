// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/net/request_head.h"

#include <algorithm>
#include <array>

#include "loci/base/text.h"
#include "loci/serve/net/refusal.h"

namespace loci::serve {

namespace {

constexpr std::string_view kLineEnd = "\r\n";

// Fields that must not be repeated: with two values, a proxy and this server could use different
// ones.
constexpr std::array<std::string_view, 9> kSingleFields = {
    "host",   "origin", "authorization", "content-length", "content-type", "transfer-encoding",
    "expect", "range",  "upgrade"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_letter_or_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter_or_digit(c) ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

// Text between fields or around values: spaces and tabs, unlike trim().
std::string_view without_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool is_host(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter_or_digit(c) || std::string_view("-._~%[]:").find(c) != std::string_view::npos;
  });
}

// Takes the line before the next CR LF.
std::string_view take_line(std::string_view& rest) {
  const size_t end = rest.find(kLineEnd);
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.size(), line.size() + kLineEnd.size()));
  return line;
}

// Returns whether the version is 1.1 and not 1.0.
bool parse_request_line(std::string_view line, HttpRequest& request) {
  const std::vector<std::string_view> parts = split(line, ' ');
  if (parts.size() != 3 || !is_token(parts[0]) || parts[1].empty() ||
      (parts[2] != "HTTP/1.1" && parts[2] != "HTTP/1.0")) {
    refuse("bad_request", "the request line is malformed: expected METHOD TARGET HTTP/1.1");
  }
  request.method = parts[0];
  request.target = parts[1];
  return parts[2] == "HTTP/1.1";
}

void parse_field(std::string_view line, HttpRequest& request) {
  if (line.front() == ' ' || line.front() == '\t')
    refuse("bad_request", "a header field is folded over several lines");
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
    refuse("bad_request", "a header field is malformed: expected NAME: VALUE");
  const std::string name = lower(line.substr(0, colon));
  const std::string_view value = without_blanks(line.substr(colon + 1));
  const auto [place, added] = request.headers.try_emplace(name, value);
  if (added) return;
  if (std::find(kSingleFields.begin(), kSingleFields.end(), name) != kSingleFields.end())
    refuse("bad_request", "the header field {} occurs twice", name);
  place->second += (name == "cookie" ? "; " : ", ") + std::string(value);
}

// A target in absolute form names the host; the Host field is then ignored (RFC 9112, 3.2.2).
void resolve_absolute_form(HttpRequest& request) {
  const std::string start = lower(std::string_view(request.target).substr(0, 8));
  size_t scheme = 0;
  if (start.starts_with("http://")) scheme = 7;
  if (start.starts_with("https://")) scheme = 8;
  if (scheme == 0) return;
  const size_t end = std::min(request.target.find_first_of("/?", scheme), request.target.size());
  request.headers["host"] = request.target.substr(scheme, end - scheme);
  request.target.erase(0, end);
  if (!request.target.starts_with('/')) request.target.insert(0, "/");
}

void check_length(const HttpRequest& request, bool current_version, bool& has_body) {
  const auto coding = request.headers.find("transfer-encoding");
  const auto length = request.headers.find("content-length");
  if (coding != request.headers.end()) {
    // Other codings are not supported. A value that this server and a proxy read differently would
    // let a client hide a request in the body of another one.
    if (lower(coding->second) != "chunked")
      refuse("bad_request", "Transfer-Encoding: expected chunked and nothing else");
    if (!current_version) refuse("bad_request", "Transfer-Encoding is not defined in HTTP/1.0");
    if (length != request.headers.end())
      refuse("bad_request", "the request has both Transfer-Encoding and Content-Length");
    has_body = true;
  }
  if (length != request.headers.end()) {
    const std::string& digits = length->second;
    if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit))
      refuse("bad_request", "Content-Length: expected one decimal number");
    has_body = digits.find_first_not_of('0') != std::string::npos;
  }
}

}  // namespace

std::optional<size_t> HeadScanner::find_end(std::string_view bytes) {
  for (; at_ < bytes.size(); ++at_) {
    const char c = bytes[at_];
    const bool after_return = at_ > 0 && bytes[at_ - 1] == '\r';
    if (after_return != (c == '\n'))
      refuse("bad_request", "a line of the header does not end with CR LF");
    if (c == '\n') {
      const bool empty = at_ - line_begin_ == 1;
      line_begin_ = at_ + 1;
      if (empty) return line_begin_;
    }
    const auto code = static_cast<unsigned char>(c);
    if ((code < ' ' && c != '\t' && c != '\r' && c != '\n') || code == 0x7f)
      refuse("bad_request", "the header contains a control character");
  }
  return std::nullopt;
}

RequestHead parse_head(std::string_view head) {
  RequestHead parsed;
  HttpRequest& request = parsed.request;
  const bool current_version = parse_request_line(take_line(head), request);
  for (std::string_view line = take_line(head); !line.empty(); line = take_line(head)) {
    parse_field(line, request);
  }
  resolve_absolute_form(request);
  const auto host = request.headers.find("host");
  if (host == request.headers.end()) {
    if (current_version) refuse("bad_request", "the header field Host is missing");
  } else if (!is_host(host->second)) {
    refuse("bad_request", "Host: expected a name or an address, and optionally a port");
  }
  check_length(request, current_version, parsed.has_body);
  if (const std::string expected = lower(request.header("expect")); !expected.empty()) {
    parsed.expects_continue = current_version && expected == "100-continue";
    parsed.unknown_expectation = current_version && expected != "100-continue";
  }
  return parsed;
}

}  // namespace loci::serve
