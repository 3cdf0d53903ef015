// SPDX-License-Identifier: Apache-2.0
// Requests and answers as the API sees them, apart from any network library.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loci/base/config.h"

namespace loci::serve {

struct HttpRequest {
  std::string method;                          // "GET"
  std::string target;                          // as received: "/v1/videos?limit=5"
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::string address;  // of the peer

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  // A file instead of the body: bytes [begin, end) of it.
  std::filesystem::path file;
  uint64_t begin = 0, end = 0;
};

// The path of a target in pieces ("/v1/videos/x" is {"v1", "videos", "x"}), and its query, both
// decoded. A target that is no plain path is refused ("bad_request").
struct Target {
  std::vector<std::string> path;
  std::map<std::string, std::string> query;

  static Target parse(std::string_view text);
};

HttpResponse json_response(const Json& body, int status = 200);
// {"error": {…}}
HttpResponse error_response(int status, std::string_view code, const std::string& message);
// The status that fits a refusal's code.
int status_of(std::string_view code);

// Which part of `size` bytes a Range header asks for. One range is served; others are ignored, as
// allowed. False: it lies outside.
bool parse_range(const std::string& header, uint64_t size, uint64_t& begin, uint64_t& end);

}  // namespace loci::serve
