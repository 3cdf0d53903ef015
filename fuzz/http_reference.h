// SPDX-License-Identifier: Apache-2.0
// Where the requests of a byte stream end according to RFC 9112: an independent reference for the
// server. It is written for clarity and knows nothing about the server's parser.
#pragma once

#include <string_view>
#include <vector>

namespace loci::fuzz {

enum class Framing {
  kValid,       // one complete request
  kLast,        // the same, and the connection ends after the response
  kMalformed,   // the server must not process it, and must end the connection
  kIncomplete,  // the stream ends within the request
  kUnclear,     // RFC 9112 allows several reactions; nothing is known about the rest of the stream
};

// One entry per request. The list ends after the first one that is not kValid.
std::vector<Framing> http_framing(std::string_view stream);

// The status codes of the final responses (not 1xx) in what a server has sent. A response that is
// not well-formed or is incomplete ends the list with 0.
std::vector<int> http_statuses(std::string_view sent);

}  // namespace loci::fuzz
