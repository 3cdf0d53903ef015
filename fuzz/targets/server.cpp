// SPDX-License-Identifier: Apache-2.0
// Input from clients of the server: HTTP requests and WebSocket messages.
#include <array>
#include <utility>  // Boost 1.74 relies on it being there

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "loci/base/error.h"
#include "loci/serve/net/api.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/protocol/message.h"
#include "loci/serve/walk/session.h"

#include "fuzz/target.h"
#include "fuzz/tiny_services.h"

namespace loci::fuzz {

namespace {

namespace http = boost::beast::http;
using serve::Encoding;

// An internal error in a reply is a bug.
void expect_no_internal(const Json& message) {
  LOCI_CHECK(message.value("code", Json()) != "internal", "the reply is {}", message.dump());
}

void drain(serve::Client& client) {
  std::optional<serve::Clock::time_point> next;
  while (const auto out = client.outbox().take(serve::Clock::time_point::max(), next)) {
    const Encoding encoding = out->text ? Encoding::kJson : Encoding::kMessagePack;
    expect_no_internal(serve::decode_message(out->bytes, encoding, 32));
  }
}

// Returns a paused walk; creates a new one after a number of messages.
class BegunWalk {
 public:
  serve::Session& session() {
    constexpr int kMost = 256;
    if (session_ == nullptr || used_++ > kMost || client_->closing()) begin();
    return *session_;
  }
  serve::Client& client() { return *client_; }

 private:
  void begin() {
    used_ = 0;
    session_.reset();
    client_ = std::make_shared<serve::Client>(tiny_services().limits, tiny_services().metrics);
    session_ = std::make_unique<serve::Session>(tiny_services(), client_);
    session_->receive(R"({"type": "init", "paused": true, "pacing": "none", "max_chunks": 1})",
                      true);
  }

  std::shared_ptr<serve::Client> client_;
  std::unique_ptr<serve::Session> session_;
  int used_ = 0;
};

}  // namespace

// Bytes, Beast's parser and the API, as in a connection of the server.
LOCI_FUZZ_TARGET(http) {
  static const serve::Access access{serve::AccessOptions{}};
  static serve::Api api(tiny_services(), access);
  http::request_parser<http::string_body> parser;
  parser.eager(true);
  parser.header_limit(static_cast<uint32_t>(tiny_services().limits.header_bytes));
  parser.body_limit(tiny_services().limits.body_bytes);
  boost::beast::error_code error;
  parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
  if (!error && !parser.is_done()) parser.put_eof(error);
  if (error || !parser.is_done()) return;
  serve::HttpRequest request;
  request.method = std::string(parser.get().method_string());
  request.target = std::string(parser.get().target());
  request.body = parser.get().body();
  request.address = "127.0.0.1";
  for (const auto& field : parser.get()) {
    std::string name(field.name_string());
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    request.headers[name] = std::string(field.value());
  }
  request.headers["host"] = "127.0.0.1";
  const serve::HttpResponse response = api.answer(request);
  LOCI_CHECK(response.status != 500, "the response is {}", response.body);
  api.refuse_upgrade(request);
}

// Parses a message, encodes it and parses it again.
LOCI_FUZZ_TARGET(message) {
  const Encoding encoding = take_choice(bytes, 2) == 0 ? Encoding::kMessagePack : Encoding::kJson;
  try {
    const Json message = serve::decode_message(bytes, encoding, 16);
    const std::string again = serve::encode_message(message, encoding);
    LOCI_CHECK(serve::encode_message(serve::decode_message(again, encoding, 16), encoding) == again,
               "a message changes when it is encoded and parsed");
  } catch (const serve::Refusal&) {
  }
}

// The first byte selects MessagePack or JSON, and whether the messages start a connection or belong
// to a walk. Messages are separated by "\n\n".
LOCI_FUZZ_TARGET(session) {
  static BegunWalk begun;
  const size_t choice = take_choice(bytes, 4);
  const bool text = choice % 2 == 1;
  std::shared_ptr<serve::Client> client;
  std::unique_ptr<serve::Session> fresh;
  if (choice < 2) {
    client = std::make_shared<serve::Client>(tiny_services().limits, tiny_services().metrics);
    fresh = std::make_unique<serve::Session>(tiny_services(), client);
  }
  serve::Session& session = fresh == nullptr ? begun.session() : *fresh;
  while (!bytes.empty()) {
    const size_t end = std::min(bytes.find("\n\n"), bytes.size());
    session.receive(bytes.substr(0, end), text);
    bytes.remove_prefix(std::min(end + 2, bytes.size()));
  }
  drain(fresh == nullptr ? begun.client() : *client);
}

}  // namespace loci::fuzz
