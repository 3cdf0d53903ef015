// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/net/api.h"

#include <algorithm>
#include <chrono>

#include "loci/base/text.h"
#include "loci/serve/net/multipart.h"
#include "loci/serve/net/page.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/protocol/http_bodies.h"
#include "loci/serve/protocol/ids.h"
#include "loci/serve/protocol/message.h"
#include "loci/serve/protocol/protocol.h"
#include "loci/serve/protocol/schema.h"
#include "loci/serve/videos/video_job.h"

namespace loci::serve {

namespace {

HttpResponse not_found() { return error_response(404, "not_found", "there is no such route"); }

HttpResponse wrong_method(const std::string& allowed) {
  HttpResponse response = error_response(
      405, "bad_request", "this route does not support the method; use one of: " + allowed);
  response.headers.emplace_back("Allow", allowed);
  return response;
}

HttpResponse jpeg_response(std::string bytes, const std::string& cache) {
  HttpResponse response;
  response.content_type = "image/jpeg";
  response.body = std::move(bytes);
  response.headers.emplace_back("Cache-Control", cache);
  return response;
}

Json parse_body(const HttpRequest& request, const Limits& limits) {
  const std::string type = request.header("content-type");
  if (type.starts_with("multipart/form-data")) return parse_multipart(type, request.body);
  if (!type.starts_with("application/json")) {
    refuse("unsupported_type", "expected the content type application/json or multipart/form-data");
  }
  return decode_message(request.body, Encoding::kJson, limits.message_depth);
}

Json query_of(const Target& target) {
  Json query = Json::object();
  for (const auto& [name, value] : target.query) query[name] = value;
  return query;
}

template <typename T>
Json list_of_maps(const std::vector<T>& items) {
  return {{"object", "list"}, {"data", Wire<std::vector<T>>::write(items)}};
}

bool changes(const HttpRequest& request) {
  return request.method != "GET" && request.method != "HEAD";
}

// The page contains no secrets, and load balancers need /health.
bool needs_no_token(const Target& target) {
  return target.path.empty() || (target.path.front() != "v1" && target.path.front() != "metrics" &&
                                 target.path.front() != "schema");
}

bool takes_gzip(const HttpRequest& request) {
  const std::string accepted = request.header("accept-encoding");
  return accepted.find("gzip") != std::string::npos &&
         accepted.find("gzip;q=0") == std::string::npos;
}

}  // namespace

Api::Api(Services& services, const Access& access)
    : services_(services),
      access_(access),
      rate_(services.limits.requests_per_second),
      started_(std::chrono::steady_clock::now()) {}

std::optional<HttpResponse> Api::barrier(const HttpRequest& request, bool open) {
  if (!rate_.take(request.address)) {
    HttpResponse response = error_response(429, "limit", "too many requests");
    response.headers.emplace_back("Retry-After", "1");
    return response;
  }
  return refuse_access(request, open);
}

std::optional<HttpResponse> Api::refuse_access(const HttpRequest& request, bool open) const {
  if (!access_.host_allowed(request)) {
    return error_response(403, "forbidden", "the Host header does not name this server");
  }
  if (changes(request) && !access_.origin_allowed(request)) {
    return error_response(403, "forbidden", "requests from pages of other origins are not allowed");
  }
  if (!open && !access_.authorised(request)) {
    HttpResponse response = error_response(401, "unauthorised", "a token is required");
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
  }
  return std::nullopt;
}

std::optional<HttpResponse> Api::refuse_early(const HttpRequest& request) const {
  try {
    return refuse_access(request, needs_no_token(Target::parse(request.target)));
  } catch (const Refusal& refusal) {
    return error_response(status_of(refusal.code()), refusal.code(), refusal.what());
  }
}

std::optional<HttpResponse> Api::refuse_upgrade(const HttpRequest& request) {
  std::optional<HttpResponse> refused = barrier(request, false);
  if (!refused && !access_.origin_allowed(request)) {
    refused =
        error_response(403, "forbidden", "requests from pages of other origins are not allowed");
  }
  if (!refused && stopping_) refused = error_response(503, "stopping", "the server is stopping");
  if (!refused && request.target.substr(0, request.target.find('?')) != kWalkRoute) {
    refused = not_found();
  }
  services_.metrics.count_request("websocket", refused ? refused->status : 101);
  if (refused) ++services_.metrics.connections_refused;
  return refused;
}

HttpResponse Api::answer(const HttpRequest& request) {
  std::string name = "other";
  HttpResponse response;
  try {
    const Target target = Target::parse(request.target);
    if (auto refused = barrier(request, needs_no_token(target))) {
      response = std::move(*refused);
    } else {
      response = route(request, target, name);
    }
  } catch (...) {
    const ErrorReply reply = reply_to_exception("an HTTP request");
    if (reply.code == "internal") ++services_.metrics.errors;
    const int status = reply.code == "unsupported_type" ? 415 : status_of(reply.code);
    response = error_response(status, reply.code, reply.message);
  }
  services_.metrics.count_request(name, response.status);
  return response;
}

HttpResponse Api::health() const {
  const bool stopping = stopping_;
  // The steady clock is not affected by changes of the system time.
  const auto uptime =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - started_);
  return json_response({{"status", stopping ? "stopping" : "ok"},
                        {"version", LOCI_VERSION},
                        {"protocol", kProtocol},
                        {"uptime_seconds", uptime.count()}},
                       stopping ? 503 : 200);
}

HttpResponse Api::route(const HttpRequest& request, const Target& target, std::string& name) {
  const Path& path = target.path;
  const bool get = !changes(request);
  const auto is = [&](std::initializer_list<const char*> wanted) {
    return std::equal(path.begin(), path.end(), wanted.begin(), wanted.end(),
                      [](const std::string& a, const char* b) { return a == b; });
  };
  if (path.size() >= 2 && path[0] == "v1" && path[1] == "worlds") {
    name = "worlds";
    return worlds(request, path);
  }
  if (path.size() >= 2 && path[0] == "v1" && path[1] == "videos") {
    name = "videos";
    return videos(request, target);
  }
  const bool known = is({"health"}) || is({"metrics"}) || is({"schema"}) || is({"v1", "models"}) ||
                     is({"v1", "starts"}) ||
                     (path.size() == 4 && path[0] == "v1" && path[1] == "starts" &&
                      (path[3] == "picture" || path[3] == "path"));
  if (known && !get) return wrong_method("GET, HEAD");
  if (known) name = path[0] == "v1" ? path[1] : path[0];
  if (is({"health"})) return health();
  if (is({"metrics"})) {
    HttpResponse response;
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    response.body = services_.metrics.text();
    return response;
  }
  if (is({"schema"})) return json_response(protocol_schema(services_.limits));
  if (is({"v1", "models"})) {
    std::vector<ModelInfo> models;
    for (const auto& model : services_.models.all()) models.push_back(model->describe());
    return json_response(list_of_maps(models));
  }
  if (is({"v1", "starts"})) {
    Json starts = list_of_maps(services_.starts.list());
    starts["styles"] = services_.starts.style_names();
    return json_response(starts);
  }
  if (known && path[3] == "path") return start_path(target);
  if (known) return jpeg_response(services_.starts.thumbnail(path[2]), "private, max-age=86400");
  name = "page";
  return page(request, target);
}

HttpResponse Api::start_path(const Target& target) const {
  const double fps = parse<PathQuery>(query_of(target), services_.limits).fps;
  return json_response({{"fps", fps},
                        {"poses", Wire<std::vector<camera::Pose>>::write(services_.starts.path(
                                      target.path[2], fps, services_.limits.script_frames))}});
}

HttpResponse Api::worlds(const HttpRequest& request, const Path& path) {
  const bool get = !changes(request);
  if (path.size() == 2) {
    return get ? json_response(list_of_maps(services_.worlds.list())) : wrong_method("GET, HEAD");
  }
  const std::string& id = path[2];
  if (path.size() == 3) {
    if (get) return json_response(to_wire(services_.worlds.describe(id)));
    if (request.method == "DELETE") {
      services_.worlds.remove(id);
      return json_response({{"id", id}, {"object", "world.deleted"}, {"deleted", true}});
    }
    if (request.method != "POST") return wrong_method("GET, HEAD, POST, DELETE");
    const Json body = parse_body(request, services_.limits);
    services_.worlds.rename(id, parse<RenameWorld>(body, services_.limits).name);
    return json_response(to_wire(services_.worlds.describe(id)));
  }
  if (!get) return wrong_method("GET, HEAD");
  if (path.size() == 4 && path[3] == "picture") {
    return jpeg_response(services_.worlds.picture(id), "no-cache");
  }
  if (path.size() == 6 && path[3] == "thumbnails") {
    const auto view = parse_int(path[4]), latent = parse_int(path[5]);
    if (!view || !latent || *view < 0 || *view > 1) return not_found();
    return jpeg_response(services_.worlds.thumbnail(id, static_cast<size_t>(*view), *latent),
                         "private, max-age=86400");
  }
  return not_found();
}

HttpResponse Api::videos(const HttpRequest& request, const Target& target) {
  const Path& path = target.path;
  const bool get = !changes(request);
  if (path.size() == 2) {
    if (request.method == "POST") {
      const std::shared_ptr<VideoJob> job =
          VideoJob::create(services_, parse_body(request, services_.limits));
      const Json record = job->record();
      services_.engine.add(job);
      return json_response(record);
    }
    if (!get) return wrong_method("GET, HEAD, POST");
    return json_response(
        services_.videos.list(parse<VideoQuery>(query_of(target), services_.limits)));
  }
  if (path.size() == 3) {
    if (get) return json_response(services_.videos.get(path[2]));
    if (request.method != "DELETE") return wrong_method("GET, HEAD, DELETE");
    services_.videos.remove(path[2]);
    return json_response({{"id", path[2]}, {"object", "video.deleted"}, {"deleted", true}});
  }
  if (path.size() == 4 && path[3] == "content") {
    return get ? video_content(request, target) : wrong_method("GET, HEAD");
  }
  return not_found();
}

HttpResponse Api::video_content(const HttpRequest& request, const Target& target) {
  const std::string& id = target.path[2];
  if (const auto variant = target.query.find("variant"); variant != target.query.end()) {
    if (variant->second == "thumbnail") {
      return jpeg_response(services_.videos.thumbnail(id), "private, max-age=3600");
    }
    if (variant->second != "video")
      refuse("bad_request", "variant: expected one of: video, thumbnail");
  }
  HttpResponse response;
  response.content_type = "video/mp4";
  response.file = services_.videos.content(id);
  const uint64_t size = std::filesystem::file_size(response.file);
  response.headers.emplace_back("Accept-Ranges", "bytes");
  response.headers.emplace_back("Content-Disposition",
                                fmt::format("inline; filename=\"{}.mp4\"", id));
  const std::string range = request.header("range");
  if (!parse_range(range, size, response.begin, response.end)) {
    HttpResponse outside = error_response(
        416, "bad_request",
        fmt::format("the range lies outside of the video, which has {} bytes", size));
    outside.headers.emplace_back("Content-Range", fmt::format("bytes */{}", size));
    return outside;
  }
  if (response.begin != 0 || response.end != size) {
    response.status = 206;
    response.headers.emplace_back(
        "Content-Range", fmt::format("bytes {}-{}/{}", response.begin, response.end - 1, size));
  }
  return response;
}

HttpResponse Api::page(const HttpRequest& request, const Target& target) const {
  if (changes(request)) return wrong_method("GET, HEAD");
  // A token in the URL is replaced by a cookie, so that it does not stay in the URL.
  if (const auto token = target.query.find("token"); token != target.query.end()) {
    if (!access_.token_is(token->second)) {
      return error_response(401, "unauthorised", "the token is wrong");
    }
    HttpResponse response;
    response.status = 303;
    response.headers.emplace_back("Location", "/");
    response.headers.emplace_back("Set-Cookie", access_.cookie());
    return response;
  }
  const std::string path =
      target.path.empty() ? "/index.html" : "/" + fmt::format("{}", fmt::join(target.path, "/"));
  for (const PageFile& file : page_files()) {
    if (file.path != path) continue;
    HttpResponse response;
    response.content_type = file.content_type;
    const bool packed = !file.gzip.empty() && takes_gzip(request);
    std::string tag(file.etag);
    if (packed) tag.insert(tag.size() - 1, "-gzip");
    response.headers.emplace_back("ETag", tag);
    response.headers.emplace_back("Vary", "Accept-Encoding");
    response.headers.emplace_back("Cache-Control", "no-cache");
    response.headers.emplace_back(
        "Content-Security-Policy",
        "default-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
        "style-src 'self' 'unsafe-inline'; worker-src 'self' blob:; connect-src 'self'; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'self'");
    if (request.header("if-none-match") == tag) {
      response.status = 304;
    } else {
      if (packed) response.headers.emplace_back("Content-Encoding", "gzip");
      response.body = packed ? file.gzip : file.bytes;
    }
    return response;
  }
  return not_found();
}

}  // namespace loci::serve
