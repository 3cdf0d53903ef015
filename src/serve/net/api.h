// SPDX-License-Identifier: Apache-2.0
// The HTTP routes.
#pragma once

#include <atomic>
#include <chrono>

#include "loci/serve/engine/services.h"
#include "loci/serve/net/access.h"
#include "loci/serve/net/http_message.h"
#include "loci/serve/net/rate_limit.h"

namespace loci::serve {

// Any thread may use it.
class Api {
 public:
  Api(Services& services, const Access& access);

  // Answers a request. Never throws.
  HttpResponse answer(const HttpRequest& request);
  // Checks the host, origin and token of a request whose body was not read yet. Nothing if the body
  // may be read; answer() checks everything again.
  std::optional<HttpResponse> refuse_early(const HttpRequest& request) const;
  // Nothing if the request may become a WebSocket, otherwise the response that refuses it.
  std::optional<HttpResponse> refuse_upgrade(const HttpRequest& request);

  void set_stopping() { stopping_ = true; }

 private:
  using Path = std::vector<std::string>;
  // The response that refuses a request because of host, origin or token; `open` routes need no
  // token.
  std::optional<HttpResponse> refuse_access(const HttpRequest& request, bool open) const;
  // The same, and counts the request against the rate of its address.
  std::optional<HttpResponse> barrier(const HttpRequest& request, bool open);
  HttpResponse route(const HttpRequest& request, const Target& target, std::string& name);
  HttpResponse start_path(const Target& target) const;
  HttpResponse worlds(const HttpRequest& request, const Path& path);
  HttpResponse videos(const HttpRequest& request, const Target& target);
  HttpResponse video_content(const HttpRequest& request, const Target& target);
  HttpResponse page(const HttpRequest& request, const Target& target) const;
  HttpResponse health() const;

  Services& services_;
  const Access& access_;
  RateLimiter rate_;
  const std::chrono::steady_clock::time_point started_;
  std::atomic<bool> stopping_ = false;
};

}  // namespace loci::serve
