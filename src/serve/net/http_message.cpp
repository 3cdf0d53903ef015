// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/net/http_message.h"

#include <algorithm>

#include "loci/base/text.h"
#include "loci/serve/net/refusal.h"

namespace loci::serve {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decode(std::string_view text, bool form) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && form) c = ' ';
    if (c == '%') {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0)
        refuse("bad_request", "the URL is malformed: a percent sign needs two hex digits");
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') refuse("bad_request", "the URL is malformed: it contains a null byte");
    out += c;
  }
  return out;
}

}  // namespace

Target Target::parse(std::string_view text) {
  Target target;
  if (!text.starts_with('/'))
    refuse("bad_request", "the URL must be an absolute path that starts with /");
  const size_t question = text.find('?');
  const std::string_view path =
      text.substr(1, question == std::string_view::npos ? std::string_view::npos : question - 1);
  if (!path.empty()) {
    for (const std::string_view piece : split(path, '/')) {
      target.path.push_back(decode(piece, false));
    }
  }
  if (question != std::string_view::npos) {
    for (const std::string_view pair : split(text.substr(question + 1), '&')) {
      const size_t equals = pair.find('=');
      const std::string name = decode(pair.substr(0, equals), true);
      if (name.empty()) continue;
      target.query[name] =
          equals == std::string_view::npos ? "" : decode(pair.substr(equals + 1), true);
    }
  }
  return target;
}

HttpResponse json_response(const Json& body, int status) {
  HttpResponse response;
  response.status = status;
  response.body = body.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return response;
}

HttpResponse error_response(int status, std::string_view code, const std::string& message) {
  const char* type = status >= 500 ? "server_error" : "invalid_request_error";
  return json_response(
      {{"error",
        {{"message", message}, {"type", type}, {"param", nullptr}, {"code", std::string(code)}}}},
      status);
}

int status_of(std::string_view code) {
  if (code == "not_found") return 404;
  if (code == "busy") return 409;
  if (code == "limit") return 429;
  if (code == "storage") return 507;
  if (code == "memory") return 503;
  if (code == "internal") return 500;
  return 400;
}

bool parse_range(const std::string& header, uint64_t size, uint64_t& begin, uint64_t& end) {
  begin = 0;
  end = size;
  constexpr std::string_view kUnit = "bytes=";
  if (!header.starts_with(kUnit) || header.find(',') != std::string::npos) return true;
  const std::string_view range = std::string_view(header).substr(kUnit.size());
  const size_t dash = range.find('-');
  if (dash == std::string_view::npos) return true;
  const auto first = parse_int(range.substr(0, dash)), last = parse_int(range.substr(dash + 1));
  if (!first && !last) return true;
  if (!first) {  // "bytes=-n": the last n bytes
    if (*last <= 0) return false;
    begin = size - std::min<uint64_t>(size, static_cast<uint64_t>(*last));
    return size > 0;
  }
  if (*first < 0 || static_cast<uint64_t>(*first) >= size) return false;
  begin = static_cast<uint64_t>(*first);
  if (last) {
    if (*last < *first) return true;
    end = std::min<uint64_t>(size, static_cast<uint64_t>(*last) + 1);
  }
  return true;
}

}  // namespace loci::serve
