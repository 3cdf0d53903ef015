// SPDX-License-Identifier: Apache-2.0
// The state that all connections share, and the coroutines that serve them. Only the files that use
// sockets include this header.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include "loci/serve/engine/services.h"
#include "loci/serve/net/api.h"
#include "loci/serve/net/client.h"

namespace loci::serve {

// Network errors are returned, not thrown: clients disconnect all the time.
using TcpStream = boost::beast::tcp_stream;
using BeastRequest = boost::beast::http::request<boost::beast::http::string_body>;

inline std::chrono::milliseconds span(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3));
}

// Limits the connections in total and per address. A connection counts while its Place lives.
class ConnectionCounter {
 public:
  ConnectionCounter(const Limits& limits, Metrics& metrics) : limits_(limits), metrics_(metrics) {}

  class Place {
   public:
    Place() = default;
    Place(ConnectionCounter& counter, std::string address)
        : counter_(&counter), address_(std::move(address)) {}
    Place(Place&& other) noexcept
        : counter_(std::exchange(other.counter_, nullptr)), address_(std::move(other.address_)) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (counter_ != nullptr) counter_->leave(address_);
    }
    explicit operator bool() const { return counter_ != nullptr; }

   private:
    ConnectionCounter* counter_ = nullptr;
    std::string address_;
  };
  // Empty if there are too many connections.
  Place enter(const std::string& address);

 private:
  void leave(const std::string& address);

  const Limits& limits_;
  Metrics& metrics_;
  std::mutex mutex_;
  std::map<std::string, int> by_address_;
  int total_ = 0;
};

struct Network {
  Network(Services& all_services, Api& routes)
      : services(all_services), api(routes), connections(services.limits, services.metrics) {}

  Services& services;
  Api& api;
  ConnectionCounter connections;
  // All WebSocket clients: they are closed when the server stops.
  std::mutex mutex;
  std::set<std::shared_ptr<Client>> clients;
};

// Serves requests until the client or a limit ends the connection.
boost::asio::awaitable<void> serve_connection(Network& network, TcpStream stream,
                                              std::string address, ConnectionCounter::Place place);
// Serves the connection after an upgrade request.
boost::asio::awaitable<void> serve_websocket(Network& network, TcpStream stream,
                                             BeastRequest request);

}  // namespace loci::serve
