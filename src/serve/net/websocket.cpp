// SPDX-License-Identifier: Apache-2.0
// Serves a WebSocket: one coroutine receives messages, another one sends them, on one strand.
#include <chrono>
#include <utility>  // asio of Boost 1.74 relies on it being there

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/websocket/stream.hpp>

#include "loci/serve/net/network.h"
#include "loci/serve/walk/session.h"

namespace loci::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;

namespace {

using Socket = websocket::stream<TcpStream>;

// Shared by the two coroutines. Only the strand may use it, except for the client.
struct Line {
  Line(Network& all, TcpStream stream)
      : network(all),
        socket(std::move(stream)),
        wake(socket.get_executor()),
        deadline(socket.get_executor()),
        stall(socket.get_executor()),
        silence(socket.get_executor()),
        client(std::make_shared<Client>(all.services.limits, all.services.metrics)) {}

  Network& network;
  Socket socket;
  asio::steady_timer wake;      // the sender waits on it for messages
  asio::steady_timer deadline;  // for `init`
  asio::steady_timer stall;     // for sending one message
  asio::steady_timer silence;   // the receiver waits on it until the sender has ended
  std::shared_ptr<Client> client;
  bool ended = false;
};

void set_options(Line& line) {
  const Limits& limits = line.network.services.limits;
  // A silent client is pinged after half of the time and disconnected after all of it.
  websocket::stream_base::timeout timeout{};
  timeout.handshake_timeout = span(limits.header_seconds);
  timeout.idle_timeout = span(limits.ping_seconds);
  timeout.keep_alive_pings = true;
  line.socket.set_option(timeout);
  line.socket.read_message_max(limits.message_bytes);
  line.socket.auto_fragment(false);
}

asio::awaitable<void> send_close(const std::shared_ptr<Line>& line) {
  beast::error_code ignored;
  const int code = line->client->close_code();
  std::string reason = line->client->close_reason();
  reason.resize(std::min<size_t>(reason.size(), 120));
  const websocket::close_reason close_message(
      static_cast<websocket::close_code>(code == 0 ? kDone : code), reason);
  co_await line->socket.async_close(close_message,
                                    asio::redirect_error(asio::use_awaitable, ignored));
}

asio::awaitable<void> send_messages(std::shared_ptr<Line> line) {
  Metrics& metrics = line->network.services.metrics;
  const double patience = line->network.services.limits.write_seconds;
  while (!line->ended) {
    std::optional<Clock::time_point> next;
    std::optional<Outgoing> message = line->client->outbox().take(Clock::now(), next);
    beast::error_code error;
    if (!message) {
      if (line->client->closing()) {
        co_await send_close(line);
        break;
      }
      line->wake.expires_at(next.value_or(Clock::time_point::max()));
      co_await line->wake.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    line->socket.text(message->text);
    line->stall.expires_after(span(patience));
    line->stall.async_wait([weak = std::weak_ptr<Line>(line)](const beast::error_code& stopped) {
      const std::shared_ptr<Line> there = weak.lock();
      if (stopped || there == nullptr) return;
      ++there->network.services.metrics.connections_cut;
      beast::get_lowest_layer(there->socket).close();
    });
    co_await line->socket.async_write(asio::buffer(message->bytes),
                                      asio::redirect_error(asio::use_awaitable, error));
    line->stall.cancel();
    if (error) break;
    metrics.frames_sent += static_cast<uint64_t>(message->frames);
    metrics.bytes_sent += message->bytes.size();
  }
  line->ended = true;
  line->silence.cancel();
  beast::get_lowest_layer(line->socket).close();
}

asio::awaitable<void> receive_messages(const std::shared_ptr<Line>& line) {
  Session session(line->network.services, line->client);
  beast::flat_buffer buffer;
  while (!line->ended) {
    beast::error_code error;
    co_await line->socket.async_read(buffer, asio::redirect_error(asio::use_awaitable, error));
    if (error) {
      if (error == beast::error::timeout) ++line->network.services.metrics.connections_cut;
      break;
    }
    // The sender closes the connection and reads the answer to its close message.
    if (line->client->closing()) break;
    const auto data = buffer.cdata();
    session.receive({static_cast<const char*>(data.data()), data.size()}, line->socket.got_text());
    buffer.consume(buffer.size());
    // Frees the memory of a large message.
    if (buffer.capacity() > (1 << 20)) buffer.shrink_to_fit();
    if (session.begun()) line->deadline.cancel();
  }
  if (line->client->closing() && !line->ended) {
    beast::error_code ended;
    line->silence.expires_at(Clock::time_point::max());
    co_await line->silence.async_wait(asio::redirect_error(asio::use_awaitable, ended));
  }
}

}  // namespace

asio::awaitable<void> serve_websocket(Network& network, TcpStream stream, BeastRequest request) {
  const auto line = std::make_shared<Line>(network, std::move(stream));
  beast::get_lowest_layer(line->socket).expires_never();
  set_options(*line);
  beast::error_code error;
  co_await line->socket.async_accept(request, asio::redirect_error(asio::use_awaitable, error));
  if (error) co_return;
  ++network.services.metrics.websockets;
  {
    const std::lock_guard lock(network.mutex);
    network.clients.insert(line->client);
  }
  const auto executor = line->socket.get_executor();
  // Any thread may put a message; the strand then wakes the sender.
  const std::weak_ptr<Line> weak = line;
  line->client->outbox().on_put([executor, weak] {
    asio::post(executor, [weak] {
      if (const std::shared_ptr<Line> there = weak.lock()) there->wake.cancel();
    });
  });
  line->deadline.expires_after(span(network.services.limits.init_seconds));
  line->deadline.async_wait([weak](const beast::error_code& stopped) {
    const std::shared_ptr<Line> there = weak.lock();
    if (stopped || there == nullptr) return;
    ++there->network.services.metrics.connections_cut;
    there->client->close(kPolicy, "the client did not send init in time");
  });
  asio::co_spawn(executor, send_messages(line), asio::detached);
  co_await receive_messages(line);
  line->ended = true;
  line->deadline.cancel();
  line->wake.cancel();
  line->client->outbox().on_put({});
  beast::get_lowest_layer(line->socket).close();
  {
    const std::lock_guard lock(network.mutex);
    network.clients.erase(line->client);
  }
  --network.services.metrics.websockets;
}

}  // namespace loci::serve
