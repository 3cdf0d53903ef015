// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/net/server.h"

#include <chrono>
#include <condition_variable>
#include <thread>
#include <utility>  // asio of Boost 1.74 relies on it being there

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/base/machine.h"
#include "loci/base/output_path.h"
#include "loci/serve/net/network.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/protocol/ids.h"
#include "loci/serve/videos/video_job.h"
#include "loci/serve/walk/walk.h"
#include "loci/serve/walk/walk_registry.h"

namespace loci::serve {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::chrono::minutes kSweepEvery(10);
constexpr std::chrono::milliseconds kRest(100);
constexpr int kSendBuffer = 256 << 10;
constexpr std::string_view kTooManyConnections =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n"
    "Content-Type: text/plain\r\nContent-Length: 41\r\n\r\n"
    "too many connections; try again in a bit\n";
constexpr std::chrono::milliseconds kGoodbye(500);  // to send the close messages

// Lowers the limits so that all connections and walks together find file descriptors: a connection
// has a socket, a walk a lock, and walks in memory are up to three times the sessions. The others
// are for the models, the threads, and the files that are written.
void fit_into_open_files(Limits& limits) {
  constexpr uint64_t kOwn = 20;
  const uint64_t files = std::max(raise_open_file_limit(), kOwn + 8);
  const auto sessions = std::min(static_cast<uint64_t>(limits.sessions), (files - kOwn) / 4);
  const auto connections =
      std::min(static_cast<uint64_t>(limits.connections), files - kOwn - 3 * sessions);
  if (static_cast<int>(sessions) == limits.sessions &&
      static_cast<int>(connections) == limits.connections) {
    return;
  }
  limits.sessions = static_cast<int>(sessions);
  limits.connections = static_cast<int>(connections);
  log_warning(
      "this process may open {} files, which is enough for {} walks and {} connections; raise the "
      "limit (ulimit -n) for more",
      files, limits.sessions, limits.connections);
}

ServerOptions checked_options(ServerOptions options) {
  options.access.loopback = is_loopback(options.address);
  if (options.access.token) check_token(*options.access.token, "the server's options");
  if (!options.access.loopback && !options.access.token) {
    fail(
        "{} can be reached by others: give --token-file with a secret of at least 16 characters, "
        "or stay on 127.0.0.1",
        options.address);
  }
  fit_into_open_files(options.limits);
  make_folders(options.data);
  return options;
}

}  // namespace

struct Server::Impl {
  explicit Impl(ServerOptions all)
      : options(checked_options(std::move(all))),
        services({.folders = options.models,
                  .dtype = options.bf16 ? at::kBFloat16 : at::kFloat,
                  .decoder = options.decoder},
                 options.data, options.starts, options.limits),
        access(options.access),
        api(services, access),
        network(services, api),
        acceptor(context) {}

  void listen();
  void run_network();
  asio::awaitable<void> accept();
  void sweep();

  ServerOptions options;
  Services services;
  Access access;
  Api api;
  Network network;
  asio::io_context context;
  tcp::acceptor acceptor;
  std::vector<std::thread> threads;
  std::thread sweeper;
  std::mutex mutex;
  std::condition_variable stop_sweeping;
  bool stopping = false, stopped = false;
};

void Server::Impl::listen() {
  boost::system::error_code error;
  const std::string name = options.address == "localhost" ? "127.0.0.1" : options.address;
  const asio::ip::address address = asio::ip::make_address(name, error);
  if (error)
    fail("cannot listen at '{}': expected an IP address such as 127.0.0.1", options.address);
  const tcp::endpoint endpoint(address, options.port);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    fail("cannot listen at {} port {}: {}; choose another --port or --host", options.address,
         options.port, error.message());
  }
  asio::co_spawn(context, accept(), asio::detached);
  for (int i = 0; i < std::max(1, options.threads); ++i) {
    threads.emplace_back([this] { run_network(); });
  }
  sweeper = std::thread([this] { sweep(); });
}

// An exception of one connection, such as a lack of memory, must not end the others.
void Server::Impl::run_network() {
  while (true) {
    try {
      context.run();
      return;
    } catch (...) {
      reply_to_exception("a network thread");
    }
  }
}

asio::awaitable<void> Server::Impl::accept() {
  while (acceptor.is_open()) {
    boost::system::error_code error;
    tcp::socket socket(asio::make_strand(context));
    co_await acceptor.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
    if (error) {
      // There may be no file descriptors left until other connections end.
      asio::steady_timer rest(context, kRest);
      co_await rest.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    boost::system::error_code ignored;
    const std::string address = socket.remote_endpoint(ignored).address().to_string();
    ConnectionCounter::Place place = network.connections.enter(address);
    if (!place) {
      // Fits into the empty send buffer.
      socket.write_some(asio::buffer(kTooManyConnections), ignored);
      socket.close(ignored);
      continue;
    }
    socket.set_option(tcp::no_delay(true), ignored);
    // A small send buffer: frames that wait in the kernel for a slow client become outdated.
    socket.set_option(asio::socket_base::send_buffer_size(kSendBuffer), ignored);
    const auto executor = socket.get_executor();
    asio::co_spawn(
        executor,
        serve_connection(network, TcpStream(std::move(socket)), address, std::move(place)),
        asio::detached);
  }
}

void Server::Impl::sweep() {
  const auto leaving = [this] {
    const std::lock_guard lock(mutex);
    return stopping;
  };
  TimeOfDayWatch time_of_day;
  std::unique_lock lock(mutex);
  while (!stopping) {
    lock.unlock();
    try {
      if (time_of_day.settled(Clock::now(), unix_time())) {
        services.worlds.sweep();
        services.videos.sweep();
      } else {
        log_warning("the time of day was set; expired worlds and videos are kept for an hour");
      }
      VideoJob::adopt_orphans(services);
      services.starts.prepare(leaving);
    } catch (const Interrupted&) {
      return;
    } catch (const std::exception& error) {
      log_error("sweeping: {}", error.what());
    }
    lock.lock();
    stop_sweeping.wait_for(lock, kSweepEvery, [this] { return stopping; });
  }
}

Server::Server(ServerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {
  impl_->listen();
}

Server::~Server() { stop(); }

uint16_t Server::port() const { return impl_->acceptor.local_endpoint().port(); }

void Server::stop() {
  Impl& impl = *impl_;
  if (std::exchange(impl.stopped, true)) return;
  impl.api.set_stopping();
  {
    const std::lock_guard lock(impl.mutex);
    impl.stopping = true;
  }
  impl.stop_sweeping.notify_all();
  // The engine stops first: the current chunk is finished and stored while its client is connected.
  impl.services.engine.stop();
  for (const std::shared_ptr<Walk>& walk : impl.services.walks->all()) {
    try {
      walk->keep();
    } catch (const std::exception& error) {
      log_error("the memory of a walk was not saved: {}", error.what());
    }
  }
  impl.services.encoder.drain();  // before close(), which drops later messages
  bool anybody = false;
  {
    const std::lock_guard lock(impl.network.mutex);
    anybody = !impl.network.clients.empty();
    for (const std::shared_ptr<Client>& client : impl.network.clients) {
      client->close(kGoingAway, "the server is stopping");
    }
  }
  if (anybody) std::this_thread::sleep_for(kGoodbye);
  impl.context.stop();
  for (std::thread& thread : impl.threads) thread.join();
  // Walks live longer than the context: their callbacks into it are removed.
  for (const std::shared_ptr<Client>& client : impl.network.clients) client->outbox().on_put({});
  impl.network.clients.clear();
  if (impl.sweeper.joinable()) impl.sweeper.join();
}

}  // namespace loci::serve
