// SPDX-License-Identifier: Apache-2.0
// Serves HTTP requests over one connection.
#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <fstream>
#include <utility>  // asio of Boost 1.74 relies on it being there

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/websocket/rfc6455.hpp>

#include "loci/base/text.h"
#include "loci/serve/net/network.h"
#include "loci/serve/net/refusal.h"

namespace loci::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

constexpr size_t kFilePiece = 64 << 10;

HttpRequest plain(const BeastRequest& request, const std::string& address) {
  HttpRequest plain;
  plain.method = std::string(request.method_string());
  plain.target = std::string(request.target());
  plain.body = request.body();
  plain.address = address;
  for (const auto& field : request) {
    plain.headers[lower(std::string(field.name_string()))] = std::string(field.value());
  }
  return plain;
}

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

asio::awaitable<bool> write_body(Network& network, Stream& stream, const HttpResponse& response,
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
asio::awaitable<bool> write_file_part(Network& network, Stream& stream,
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

asio::awaitable<bool> write_answer(Network& network, Stream& stream, const HttpResponse& response,
                                   bool head, bool keep_alive) {
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

// Reads one request. The time limits apply to the whole header and to the whole body, so that a
// client cannot keep a connection by sending single bytes.
asio::awaitable<beast::error_code> read_request(Network& network, Stream& stream,
                                                beast::flat_buffer& buffer, bool first,
                                                BeastRequest& request) {
  const Limits& limits = network.services.limits;
  http::request_parser<http::string_body> parser;
  parser.header_limit(static_cast<uint32_t>(limits.header_bytes));
  parser.body_limit(limits.body_bytes);
  beast::error_code error;
  stream.expires_after(span(first ? limits.header_seconds : limits.idle_seconds));
  co_await http::async_read_header(stream, buffer, parser,
                                   asio::redirect_error(asio::use_awaitable, error));
  if (error) co_return error;
  stream.expires_after(span(limits.body_seconds));
  co_await http::async_read(stream, buffer, parser,
                            asio::redirect_error(asio::use_awaitable, error));
  if (!error) request = parser.release();
  co_return error;
}

void close(Stream& stream) {
  beast::error_code ignored;
  stream.socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
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

asio::awaitable<void> serve_connection(Network& network, Stream stream, std::string address,
                                       [[maybe_unused]] ConnectionCounter::Place place) {
  beast::flat_buffer buffer(network.services.limits.header_bytes + (64 << 10));
  for (bool first = true;; first = false) {
    BeastRequest request;
    const beast::error_code error = co_await read_request(network, stream, buffer, first, request);
    if (error) {
      if (error == beast::error::timeout) ++network.services.metrics.connections_cut;
      const std::optional<HttpResponse> refused = answer_to(error);
      if (refused) {
        co_await write_answer(network, stream, *refused, false, false);
      }
      break;
    }
    const HttpRequest asked = plain(request, address);
    if (beast::websocket::is_upgrade(request)) {
      const std::optional<HttpResponse> refused = network.api.refuse_upgrade(asked);
      if (!refused) {
        co_await serve_websocket(network, std::move(stream), std::move(request));
        co_return;
      }
      co_await write_answer(network, stream, *refused, false, false);
      break;
    }
    const HttpResponse response = network.api.answer(asked);
    const bool keep_alive = request.keep_alive();
    const bool sent =
        co_await write_answer(network, stream, response, asked.method == "HEAD", keep_alive);
    if (!sent || !keep_alive) break;
  }
  close(stream);
}

}  // namespace loci::serve
