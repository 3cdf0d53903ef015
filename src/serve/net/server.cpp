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

#include "loci/base/durable.h"
#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/serve/net/network.h"
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
constexpr std::chrono::milliseconds kGoodbye(500);  // to send the close messages

ServerOptions checked_options(ServerOptions options) {
  options.access.loopback = is_loopback(options.address);
  if (!options.access.loopback && options.access.token.empty()) {
    fail(
        "{} can be reached by others: give --token-file with a secret of at least 16 characters, "
        "or stay on 127.0.0.1",
        options.address);
  }
  constexpr size_t kShortest = 16;
  if (!options.access.token.empty() && options.access.token.size() < kShortest) {
    fail("the token has {} characters; use at least {}", options.access.token.size(), kShortest);
  }
  for (const char c : options.access.token) {
    const bool plain = (c >= '!' && c <= '~') && c != ';' && c != ',' && c != '"' && c != '\\';
    if (!plain)
      fail("the token has a character that is not allowed in cookies; use letters and digits");
  }
  make_folders(options.data);
  return options;
}

}  // namespace

struct Server::Impl {
  explicit Impl(ServerOptions all)
      : options(checked_options(std::move(all))),
        services(options.models, options.bf16 ? at::kBFloat16 : at::kFloat, options.data,
                 options.starts, options.limits),
        access(options.access),
        api(services, access),
        network(services, api),
        acceptor(context) {}

  void listen();
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
    threads.emplace_back([this] { context.run(); });
  }
  sweeper = std::thread([this] { sweep(); });
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
      socket.close(ignored);
      continue;
    }
    socket.set_option(tcp::no_delay(true), ignored);
    // A small send buffer: frames that wait in the kernel for a slow client become outdated.
    socket.set_option(asio::socket_base::send_buffer_size(kSendBuffer), ignored);
    const auto executor = socket.get_executor();
    asio::co_spawn(executor,
                   serve_connection(network, Stream(std::move(socket)), address, std::move(place)),
                   asio::detached);
  }
}

void Server::Impl::sweep() {
  const auto leaving = [this] {
    const std::lock_guard lock(mutex);
    return stopping;
  };
  std::unique_lock lock(mutex);
  while (!stopping) {
    lock.unlock();
    try {
      services.worlds.sweep();
      services.videos.sweep();
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
