// SPDX-License-Identifier: Apache-2.0
// loci serve
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>

#include "loci/app/cli/command.h"
#include "loci/app/tools/models.h"
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/interrupt.h"
#include "loci/base/text.h"
#include "loci/serve/net/server.h"

namespace loci::app {

namespace fs = std::filesystem;

namespace {

struct ServeOptions {
  std::vector<std::string> models;
  std::string data, decoder, starts, token_file, dtype = "fp32";
  const CLI::Option* token_option = nullptr;  // --token-file
  serve::ServerOptions server;
  double disk_gib = 20;
  int body_mib = 16, message_mib = 8;
};

// $XDG_DATA_HOME/loci or ~/.local/share/loci: users expect their worlds to persist.
fs::path default_data() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return fs::path(value == nullptr ? "" : value);
  };
  if (const fs::path data = variable("XDG_DATA_HOME"); !data.empty()) return data / "loci";
  if (const fs::path home = variable("HOME"); !home.empty()) {
    return home / ".local" / "share" / "loci";
  }
  fail("neither $XDG_DATA_HOME nor $HOME is set; give --data DIR for worlds and videos");
}

void add_place(CLI::App& app, ServeOptions& o) {
  app.add_option("--model", o.models, "model folder; give several to serve several models")
      ->type_name("DIR")
      ->required();
  app.add_option("--decoder", o.decoder, decoder_help())->type_name("FILE");
  app.add_option("--data", o.data, "folder for worlds and videos (default: ~/.local/share/loci)")
      ->type_name("DIR");
  app.add_option("--starts", o.starts,
                 "folder of start pictures, each with an optional .txt prompt of the same name; "
                 "listed before the pictures in the models' examples/")
      ->type_name("DIR");
  app.add_option("--dtype", o.dtype, "data type of the transformer's computation")
      ->check(one_of({"fp32", "bf16"}))
      ->capture_default_str();
  app.add_option("--host", o.server.address,
                 "address to listen on; addresses other than loopback require a token")
      ->type_name("ADDRESS")
      ->capture_default_str();
  app.add_option("--port", o.server.port, "TCP port; 0 selects a free port")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  o.token_option =
      app.add_option("--token-file", o.token_file,
                     "file with the secret that clients must send (default: $LOCI_TOKEN)")
          ->type_name("FILE");
  app.add_option(
         "--origin", o.server.access.origins,
         "origin that browsers may connect from besides the server's own, such as https://a.org; "
         "behind a proxy, its public origin; repeatable")
      ->type_name("URL");
  app.add_option("--network-threads", o.server.threads, "threads for network input and output")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
}

void add_limits(CLI::App& app, ServeOptions& o) {
  serve::Limits& limits = o.server.limits;
  const auto number = [&app](const char* name, auto& value, const char* help, double low,
                             double high) {
    app.add_option(name, value, help)
        ->check(number_in(low, high))
        ->type_name("N")
        ->capture_default_str()
        ->group("Limits");
  };
  number("--sessions", limits.sessions, "maximum number of concurrent walks", 1, 1000);
  number("--connections", limits.connections, "maximum number of open connections", 1, 100000);
  number("--requests-per-second", limits.requests_per_second,
         "maximum rate of HTTP requests per client address", 0.1, 1e6);
  number("--messages-per-second", limits.messages_per_second,
         "maximum rate of messages per WebSocket", 1, 1e6);
  number("--body-mib", o.body_mib, "maximum size of a request body in MiB", 1, 1024);
  number("--message-mib", o.message_mib, "maximum size of a WebSocket message in MiB", 1, 1024);
  number("--pixels", limits.pixels, "maximum number of pixels per frame", 1024, 1e8);
  number("--max-steps", limits.steps, "maximum number of denoising steps", 1, 1000);
  number("--video-seconds", limits.video_seconds, "maximum length of a video job in seconds", 0.1,
         36000);
  number("--record-seconds", limits.record_seconds, "maximum length of a recording in seconds", 1,
         36000);
  number("--queued-videos", limits.queued_videos, "maximum number of unfinished video jobs", 0,
         10000);
  number("--idle-seconds", limits.pause_seconds, "pause a walk after this time without input", 1,
         1e6);
  number("--linger-seconds", limits.linger_seconds,
         "keep a disconnected walk in memory for this time", 0, 1e6);
  number("--disk-gib", o.disk_gib, "maximum disk space of worlds and videos in GiB", 0.01, 1e6);
  number("--keep-hours", limits.keep_hours,
         "delete videos, and worlds that are not saved, after this time without use", 0.1, 1e6);
}

// Nothing if no source of a token was given. A source without a valid token is bad input: the
// server must not start without the protection that its user asked for.
std::optional<std::string> read_token(const ServeOptions& o) {
  constexpr uint64_t kMostBytes = 4096;
  if (o.token_option->count() > 0) {  // also if its value is empty
    std::string token(trim(read_file(o.token_file, kMostBytes)));
    serve::check_token(token, "--token-file " + o.token_file);
    return token;
  }
  const char* variable = std::getenv("LOCI_TOKEN");
  if (variable == nullptr) return std::nullopt;
  serve::check_token(variable, "$LOCI_TOKEN");
  return variable;
}

void run_server(ServeOptions& o) {
  serve::ServerOptions& options = o.server;
  for (const std::string& model : o.models) options.models.push_back(find_model(model));
  options.bf16 = o.dtype == "bf16";
  options.decoder = o.decoder;
  options.data = o.data.empty() ? default_data() : fs::path(o.data);
  options.starts = o.starts;
  options.access.token = read_token(o);
  options.limits.disk_bytes = static_cast<uint64_t>(o.disk_gib * (1 << 30));
  options.limits.body_bytes = static_cast<size_t>(o.body_mib) << 20;
  options.limits.message_bytes = static_cast<size_t>(o.message_mib) << 20;
  const bool token = options.access.token.has_value();
  const std::string host = options.address.find(':') == std::string::npos
                               ? options.address
                               : "[" + options.address + "]";
  serve::Server server(std::move(options));
  fmt::print("http://{}:{}/{}\n", host, server.port(), token ? "?token=…" : "");
  std::fflush(stdout);
  while (!interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  server.stop();
}

}  // namespace

void add_serve(CLI::App& app) {
  app.description("Serve the browser page, the WebSocket protocol and the HTTP API");
  auto o = std::make_shared<ServeOptions>();
  add_place(app, *o);
  add_limits(app, *o);
  examples(app, {{"loci serve --model models/mini",
                  "start the server, then open http://127.0.0.1:8080/"},
                 {"loci serve --model models/mini --model models/twin --data worlds",
                  "serve two models for side-by-side comparison"},
                 {"loci serve --model models/mini --host 0.0.0.0 --token-file token.txt",
                  "accept other machines that send the token"}});
  app.callback([o] { run_server(*o); });
}

}  // namespace loci::app
