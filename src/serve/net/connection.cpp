// SPDX-License-Identifier: Apache-2.0
// Serves HTTP requests over one connection.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <utility>  // asio of Boost 1.74 relies on it being there

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/websocket/rfc6455.hpp>

#include "loci/serve/net/network.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/net/request_head.h"

namespace loci::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

constexpr size_t kFilePiece = 64 << 10;

constexpr size_t kHeadPiece = 4 << 10;
// What a client may still send after an answer that ends the connection.
constexpr size_t kLateBytes = 1 << 20;
constexpr std::chrono::seconds kLateTime(1);

template <typename Message>
void set_headers(Message& message, const HttpResponse& response, bool keep_alive) {
  message.result(static_cast<unsigned>(response.status));
  message.version(11);
  message.keep_alive(keep_alive);
  message.set(http::field::content_type, response.content_type);
  message.set("X-Content-Type-Options", "nosniff");
  message.set("Referrer-Policy", "no-referrer");
  message.set("Cross-Origin-Resource-Policy", "same-origin");
  bool cached = false;
  for (const auto& [name, value] : response.headers) {
    message.set(name, value);
    cached = cached || name == "Cache-Control";
  }
  if (!cached) message.set(http::field::cache_control, "no-store");
}

asio::awaitable<bool> write_body(Network& network, TcpStream& stream, const HttpResponse& response,
                                 bool head, bool keep_alive) {
  http::response<http::string_body> message;
  set_headers(message, response, keep_alive);
  message.content_length(response.body.size());
  beast::error_code error;
  stream.expires_after(span(network.services.limits.write_seconds));
  http::response_serializer<http::string_body> serializer(message);
  if (head) {
    co_await http::async_write_header(stream, serializer,
                                      asio::redirect_error(asio::use_awaitable, error));
  } else {
    message.body() = response.body;
    co_await http::async_write(stream, serializer,
                               asio::redirect_error(asio::use_awaitable, error));
  }
  co_return !error;
}

// Sends a file in pieces, so that a video does not have to fit into memory.
asio::awaitable<bool> write_file_part(Network& network, TcpStream& stream,
                                      const HttpResponse& response, bool head, bool keep_alive) {
  std::ifstream file(response.file, std::ios::binary);
  http::response<http::buffer_body> message;
  set_headers(message, response, keep_alive);
  message.content_length(response.end - response.begin);
  message.body().data = nullptr;
  message.body().more = true;
  beast::error_code error;
  http::response_serializer<http::buffer_body> serializer(message);
  stream.expires_after(span(network.services.limits.write_seconds));
  co_await http::async_write_header(stream, serializer,
                                    asio::redirect_error(asio::use_awaitable, error));
  if (error || head) co_return !error;
  std::vector<char> piece(kFilePiece);
  file.seekg(static_cast<std::streamoff>(response.begin));
  uint64_t left = response.end - response.begin;
  while (left > 0) {
    const auto size = static_cast<std::streamsize>(std::min<uint64_t>(left, piece.size()));
    if (!file.read(piece.data(), size)) co_return false;
    left -= static_cast<uint64_t>(size);
    message.body().data = piece.data();
    message.body().size = static_cast<size_t>(size);
    message.body().more = left > 0;
    stream.expires_after(span(network.services.limits.write_seconds));
    co_await http::async_write(stream, serializer,
                               asio::redirect_error(asio::use_awaitable, error));
    if (error == http::error::need_buffer) error = {};
    if (error) co_return false;
  }
  co_return true;
}

asio::awaitable<bool> write_answer(Network& network, TcpStream& stream,
                                   const HttpResponse& response, bool head, bool keep_alive) {
  bool sent = false;
  if (response.file.empty()) {
    sent = co_await write_body(network, stream, response, head, keep_alive);
  } else {
    sent = co_await write_file_part(network, stream, response, head, keep_alive);
  }
  co_return sent;
}

// The response to a request that could not be read; nothing if the client has disconnected.
std::optional<HttpResponse> answer_to(const beast::error_code& error) {
  if (error == http::error::body_limit) {
    return error_response(413, "limit", "the body of the request is too large");
  }
  if (error == http::error::header_limit) {
    return error_response(431, "limit", "the header of the request is too large");
  }
  if (error == http::error::end_of_stream || error == http::error::partial_message ||
      error.category() != http::make_error_code(http::error::bad_method).category()) {
    return std::nullopt;
  }
  return error_response(400, "bad_request", "the request is not valid HTTP");
}

// A request in the order in which it is read.
struct Incoming {
  explicit Incoming(const Limits& limits) {
    parser.header_limit(static_cast<uint32_t>(limits.header_bytes));
    parser.body_limit(limits.body_bytes);
  }

  // Header fields only: trailer fields, which follow a chunked body, must not replace them.
  RequestHead head;
  http::request_parser<http::string_body> parser;
  bool keep_alive = false, upgrade = false;
  beast::error_code error;
  std::optional<HttpResponse> refused;  // the head is malformed
};

// Reads and checks the head. The time limits apply to the whole head and to the whole body, so that
// a client cannot keep a connection by sending single bytes.
asio::awaitable<void> read_head(Network& network, TcpStream& stream, beast::flat_buffer& buffer,
                                bool first, Incoming& incoming) {
  const Limits& limits = network.services.limits;
  stream.expires_after(span(first ? limits.header_seconds : limits.idle_seconds));
  HeadScanner scanner;
  bool blank = false;  // a line that some clients send after the body before
  std::optional<size_t> size;
  while (!size) {
    const std::string_view bytes(static_cast<const char*>(buffer.cdata().data()), buffer.size());
    if (!blank && bytes.starts_with("\r\n")) {
      blank = true;
      buffer.consume(2);
      continue;
    }
    try {
      if (bytes != "\r") size = scanner.find_end(bytes);
      if (size) incoming.head = parse_head(bytes.substr(0, *size));
    } catch (const Refusal& refusal) {
      incoming.refused = error_response(400, refusal.code(), refusal.what());
      co_return;
    }
    if (size.value_or(bytes.size()) > limits.header_bytes) {
      incoming.error = http::error::header_limit;
      co_return;
    }
    if (size) break;
    const size_t got = co_await stream.async_read_some(
        buffer.prepare(kHeadPiece), asio::redirect_error(asio::use_awaitable, incoming.error));
    if (incoming.error) co_return;
    buffer.commit(got);
  }
  // The parser finds the head in the buffer. It is needed for the body and for WebSockets.
  co_await http::async_read_header(stream, buffer, incoming.parser,
                                   asio::redirect_error(asio::use_awaitable, incoming.error));
  if (incoming.error) co_return;
  incoming.keep_alive = incoming.parser.get().keep_alive();
  incoming.upgrade = beast::websocket::is_upgrade(incoming.parser.get());
  if (incoming.upgrade && incoming.head.has_body) {
    incoming.refused = error_response(400, "bad_request", "an upgrade request must have no body");
  }
  if (incoming.head.unknown_expectation) {
    incoming.refused = error_response(417, "bad_request", "Expect: only 100-continue is supported");
  }
}

asio::awaitable<void> read_body(Network& network, TcpStream& stream, beast::flat_buffer& buffer,
                                Incoming& incoming) {
  stream.expires_after(span(network.services.limits.body_seconds));
  if (incoming.head.expects_continue) {
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    co_await asio::async_write(stream, asio::buffer(kContinue),
                               asio::redirect_error(asio::use_awaitable, incoming.error));
    if (incoming.error) co_return;
  }
  co_await http::async_read(stream, buffer, incoming.parser,
                            asio::redirect_error(asio::use_awaitable, incoming.error));
  if (!incoming.error) incoming.head.request.body = std::move(incoming.parser.get().body());
}

// Closes the connection after an answer. A client may still be sending: closing the socket with
// unread bytes would reset the connection, and the client could lose the answer.
asio::awaitable<void> close_in_order(TcpStream& stream) {
  beast::error_code error;
  stream.socket().shutdown(asio::ip::tcp::socket::shutdown_send, error);
  stream.expires_after(kLateTime);
  std::vector<char> ignored(kHeadPiece);
  for (size_t late = 0; !error && late < kLateBytes;) {
    late += co_await stream.async_read_some(asio::buffer(ignored),
                                            asio::redirect_error(asio::use_awaitable, error));
  }
  stream.close();
}

}  // namespace

ConnectionCounter::Place ConnectionCounter::enter(const std::string& address) {
  const std::lock_guard lock(mutex_);
  int& here = by_address_[address];
  if (total_ >= limits_.connections || here >= limits_.connections_per_address) {
    if (here == 0) by_address_.erase(address);
    ++metrics_.connections_refused;
    return {};
  }
  ++here;
  ++total_;
  metrics_.connections = total_;
  return {*this, address};
}

void ConnectionCounter::leave(const std::string& address) {
  const std::lock_guard lock(mutex_);
  if (--by_address_[address] == 0) by_address_.erase(address);
  metrics_.connections = --total_;
}

asio::awaitable<void> serve_connection(Network& network, TcpStream stream, std::string address,
                                       [[maybe_unused]] ConnectionCounter::Place place) {
  const Limits& limits = network.services.limits;
  beast::flat_buffer buffer(limits.header_bytes + (64 << 10));
  for (bool first = true;; first = false) {
    Incoming incoming(limits);
    HttpRequest& asked = incoming.head.request;
    co_await read_head(network, stream, buffer, first, incoming);
    asked.address = address;
    if (!incoming.error && !incoming.refused && incoming.upgrade) {
      incoming.refused = network.api.refuse_upgrade(asked);
      if (!incoming.refused) {
        co_await serve_websocket(network, std::move(stream), incoming.parser.release());
        co_return;
      }
    } else if (!incoming.error && !incoming.refused && incoming.head.has_body) {
      // A client without access must not fill the memory with bodies.
      incoming.refused = network.api.refuse_early(asked);
      if (!incoming.refused) co_await read_body(network, stream, buffer, incoming);
    }
    if (incoming.error) incoming.refused = answer_to(incoming.error);
    if (incoming.refused) {
      if (!incoming.upgrade) {  // refuse_upgrade() counts its own
        network.services.metrics.count_request("other", incoming.refused->status);
      }
      co_await write_answer(network, stream, *incoming.refused, asked.method == "HEAD", false);
      break;
    }
    if (incoming.error) {
      if (incoming.error == beast::error::timeout) ++network.services.metrics.connections_cut;
      stream.close();
      co_return;
    }
    const HttpResponse response = network.api.answer(asked);
    const bool sent = co_await write_answer(network, stream, response, asked.method == "HEAD",
                                            incoming.keep_alive);
    if (!sent || !incoming.keep_alive) break;
  }
  co_await close_in_order(stream);
}

}  // namespace loci::serve
