// SPDX-License-Identifier: Apache-2.0
// HTTP requests and responses, independent of the network library.
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
  // If set, bytes [begin, end) of this file are sent instead of the body.
  std::filesystem::path file;
  uint64_t begin = 0, end = 0;
};

// The decoded path components of a target ("/v1/videos/x" is {"v1", "videos", "x"}) and its decoded
// query. A target that is not an absolute path is refused ("bad_request").
struct Target {
  std::vector<std::string> path;
  std::map<std::string, std::string> query;

  static Target parse(std::string_view text);
};

HttpResponse json_response(const Json& body, int status = 200);
// {"error": {…}}
HttpResponse error_response(int status, std::string_view code, const std::string& message);
// The HTTP status for an error code of the protocol.
int status_of(std::string_view code);

// The bytes [begin, end) of `size` that a Range header requests. A header with several ranges is
// ignored, as RFC 9110 allows. Returns false if the range is not satisfiable.
bool parse_range(const std::string& header, uint64_t size, uint64_t& begin, uint64_t& end);

}  // namespace loci::serve
