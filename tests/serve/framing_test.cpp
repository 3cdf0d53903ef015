// SPDX-License-Identifier: Apache-2.0
// Where HTTP requests begin and end, and which of their fields count (RFC 9110 and 9112): a client
// must not be able to hide a request, a host or an origin from a proxy or from this server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/serve/net/refusal.h"
#include "loci/serve/net/request_head.h"

#include "tests/serve/running_server.h"

namespace loci::serve::testing {
namespace {

using ::testing::HasSubstr;

// "" if the head is accepted, otherwise why it is refused.
std::string refusal_of(const std::string& head) {
  try {
    HeadScanner scanner;
    const std::optional<size_t> end = scanner.find_end(head);
    if (!end) return "incomplete";
    EXPECT_EQ(*end, head.size()) << head;
    parse_head(head);
    return "";
  } catch (const Refusal& refusal) {
    EXPECT_EQ(refusal.code(), "bad_request");
    return refusal.what();
  }
}

TEST(RequestHead, IsParsed) {
  const RequestHead head = parse_head(
      "POST /v1/videos?x=1 HTTP/1.1\r\nHOST:localhost:80\r\nAccept: a\r\naccept:\t b \r\n"
      "Cookie: a=1\r\nCookie: b=2\r\nExpect: 100-Continue\r\nContent-Length: 12\r\n\r\n");
  EXPECT_EQ(head.request.method, "POST");
  EXPECT_EQ(head.request.target, "/v1/videos?x=1");
  EXPECT_EQ(head.request.header("host"), "localhost:80");
  EXPECT_EQ(head.request.header("accept"), "a, b");
  EXPECT_EQ(head.request.header("cookie"), "a=1; b=2");
  EXPECT_TRUE(head.has_body);
  EXPECT_TRUE(head.expects_continue);
  EXPECT_FALSE(head.unknown_expectation);
  EXPECT_TRUE(
      parse_head("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n").has_body);
  EXPECT_FALSE(parse_head("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 00\r\n\r\n").has_body);
  EXPECT_TRUE(parse_head("PUT / HTTP/1.1\r\nHost: a\r\nExpect: more\r\n\r\n").unknown_expectation);
}

TEST(RequestHead, TakesTheHostOfAnAbsoluteTarget) {
  const auto parsed = [](const std::string& target) {
    const HttpRequest request =
        parse_head("GET " + target + " HTTP/1.1\r\nHost: other.org\r\n\r\n").request;
    return request.header("host") + " " + request.target;
  };
  EXPECT_EQ(parsed("http://localhost:80/v1/models?a=b"), "localhost:80 /v1/models?a=b");
  EXPECT_EQ(parsed("HTTP://LOCALHOST"), "LOCALHOST /");
  EXPECT_EQ(parsed("https://a.org?x=/"), "a.org /?x=/");
  EXPECT_EQ(parsed("/http://a.org/"), "other.org /http://a.org/");
}

TEST(RequestHead, IsFoundInPieces) {
  const std::string bytes = "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /next";
  HeadScanner scanner;
  for (size_t size = 0; size < 27; ++size) {
    EXPECT_EQ(scanner.find_end(std::string_view(bytes).substr(0, size)), std::nullopt) << size;
  }
  EXPECT_EQ(scanner.find_end(bytes), 27U);
}

TEST(RequestHead, IsRefusedIfMalformed) {
  const std::string host = "Host: a\r\n";
  const auto with = [&](const std::string& fields) {
    return refusal_of("POST / HTTP/1.1\r\n" + host + fields + "\r\n");
  };
  EXPECT_EQ(with(""), "");
  EXPECT_EQ(with("Content-Length: 5\r\n"), "");
  EXPECT_EQ(with("Transfer-Encoding: chunked\r\n"), "");
  struct Case {
    const char *fields, *expected;
  };
  const Case cases[] = {
      {"Transfer-Encoding: xchunked\r\n", "expected chunked"},
      {"Transfer-Encoding: chunked, identity\r\n", "expected chunked"},
      {"Transfer-Encoding: gzip, x\r\n", "expected chunked"},
      {"Transfer-Encoding: gzip, chunked\r\n", "expected chunked"},
      {"Transfer-Encoding: identity\r\n", "expected chunked"},
      {"Transfer-Encoding: chunked;a=b\r\n", "expected chunked"},
      {"Transfer-Encoding: \"chunked\"\r\n", "expected chunked"},
      {"Transfer-Encoding:\r\n", "expected chunked"},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "occurs twice"},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "occurs twice"},
      {"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "both"},
      {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "both"},
      {"Content-Length: 5\r\nContent-Length: 5\r\n", "occurs twice"},
      {"Content-Length: 5, 5\r\n", "one decimal number"},
      {"Content-Length: +5\r\n", "one decimal number"},
      {"Content-Length: -1\r\n", "one decimal number"},
      {"Content-Length: 0x5\r\n", "one decimal number"},
      {"Content-Length: 5 5\r\n", "one decimal number"},
      {"Content-Length:\r\n", "one decimal number"},
      {"Host: b\r\n", "host occurs twice"},
      {"hOST: a\r\n", "host occurs twice"},
      {"Origin: http://a\r\nOrigin: http://b\r\n", "origin occurs twice"},
      {"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n", "authorization occurs twice"},
      {"Content-Length : 5\r\n", "malformed"},
      {"Content Length: 5\r\n", "malformed"},
      {": 5\r\n", "malformed"},
      {"X\r\n", "malformed"},
      {"X: a\r\n b\r\n", "folded"},
      {"X: a\r\n\tb\r\n", "folded"},
      {"X: a\nY: b\r\n", "CR LF"},
      {"X: a\rY: b\r\n", "CR LF"},
      {"X: a\x01\r\n", "control character"},
      {"X: a\x7f\r\n", "control character"},
  };
  for (const Case& each : cases) EXPECT_THAT(with(each.fields), HasSubstr(each.expected));
  EXPECT_THAT(with(std::string("X: a\0b\r\n", 8)), HasSubstr("control character"));

  for (const char* line :
       {"GET /", "GET / HTTP/1.1 x", "GET  / HTTP/1.1", "GET / HTTP/2.0", "GET / http/1.1", "",
        "G@T / HTTP/1.1", " GET / HTTP/1.1", "GET\t/\tHTTP/1.1"}) {
    EXPECT_THAT(refusal_of(std::string(line) + "\r\n" + (*line == 0 ? "" : host + "\r\n")),
                HasSubstr("request line"))
        << line;
  }
  const std::string old = "POST / HTTP/1.0\r\n";
  EXPECT_EQ(refusal_of(old + "\r\n"), "");
  EXPECT_THAT(refusal_of(old + "Transfer-Encoding: chunked\r\n\r\n"), HasSubstr("HTTP/1.0"));
  EXPECT_THAT(refusal_of("GET / HTTP/1.1\r\n\r\n"), HasSubstr("Host is missing"));
  for (const char* name : {"", "a b", "a,b", "a/b", "a@b", "a?b", "a\\b"}) {
    EXPECT_THAT(refusal_of(std::string("GET / HTTP/1.1\r\nHost: ") + name + "\r\n\r\n"),
                HasSubstr("Host: expected"))
        << name;
  }
  EXPECT_THAT(refusal_of("GET http://u:p@a/ HTTP/1.1\r\nHost: a\r\n\r\n"), HasSubstr("Host"));
}

class Framing : public RunningServer {
 protected:
  // Everything that the server answers until it closes the connection.
  std::string exchange(const std::string& bytes) const {
    Socket socket(port());
    socket.send(bytes);
    std::string all;
    while (true) {
      const std::optional<std::string> piece = socket.receive(20);
      EXPECT_TRUE(piece) << "the connection stays open after:\n" << bytes << "\n" << all;
      if (!piece || piece->empty()) return all;
      all += *piece;
    }
  }
  static int answers_in(const std::string& text) {
    int count = 0;
    for (size_t at = text.find("HTTP/1.1 "); at != text.npos; at = text.find("HTTP/1.1 ", at + 1)) {
      ++count;
    }
    return count;
  }
};

// Every case is followed by a second request on the same connection. It must not be answered: the
// server has closed the connection, because the end of the first request is uncertain.
TEST_F(Framing, ClosesTheConnectionAfterAnAmbiguousRequest) {
  start();
  const std::string next = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  const std::string post =
      "POST /v1/videos HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  const std::string cases[] = {
      post + "Transfer-Encoding: xchunked\r\n\r\n",
      post + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding: gzip, x\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
      post + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
      post + "Content-Length: 2, 2\r\n\r\n{}",
      post + "Content-Length : 2\r\n\r\n{}",
      post + "Content-Length: 2\r\n folded\r\n\r\n{}",
      post + "Host: localhost\r\nContent-Length: 2\r\n\r\n{}",
      post + "Origin: http://localhost\r\nOrigin: http://evil.org\r\n\r\n",
      post + "Content-Length: 99999999999999999999999\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n 2\r\n{}\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n\r\n{}\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}X0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n10000000000000002\r\n{}\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nTransfer-Encoding: x\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nContent-Length: 2\r\n\r\n",
      std::string("GET /health HTTP/1.1\r\n\r\n"),
      std::string("GET /health HTTP/1.1\nHost: localhost\n\n"),
      std::string("\r\n\r\n"),
  };
  for (const std::string& bytes : cases) {
    const std::string answer = exchange(bytes + next);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << bytes << "\n" << answer;
    EXPECT_EQ(answers_in(answer), 1) << bytes << "\n" << answer;
    EXPECT_THAT(answer, HasSubstr("Connection: close")) << bytes;
  }
  EXPECT_THAT(exchange(post + "Expect: tea\r\nContent-Length: 2\r\n\r\n{}"), HasSubstr("417"));
}

TEST_F(Framing, AcceptsWhatTheStandardsAllow) {
  start();
  const std::string get = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::string last = "GET /health HTTP/1.1\r\nHost: LOCALHOST\r\nConnection: close\r\n\r\n";
  // Several requests at once, and one empty line between them.
  EXPECT_EQ(answers_in(exchange(get + get + "\r\n" + last)), 3);
  const std::string chunked =
      "POST /v1/worlds HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: CHUNKED\r\n\r\n"
      "2;name=\"va;l\"\r\n{}\r\n00\r\nX-Checksum: 1\r\n\r\n";
  const std::string answers = exchange(chunked + last);
  EXPECT_TRUE(answers.starts_with("HTTP/1.1 405 ")) << answers;
  EXPECT_EQ(answers_in(answers), 2);
  for (const char* target : {"http://localhost/health", "HTTP://127.0.0.1:1/health"}) {
    EXPECT_THAT(exchange(std::string("GET ") + target +
                         " HTTP/1.1\r\nHost: proxy.org\r\nConnection: close\r\n\r\n"),
                HasSubstr("200 OK"));
  }
  EXPECT_THAT(
      exchange(
          "GET http://evil.org/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
      HasSubstr("403"));
}

TEST_F(Framing, AnswersExpectContinueOnlyIfTheBodyIsWanted) {
  ServerOptions closed = options(folder_);
  closed.access.token = "correct-horse-battery";
  closed.limits.body_bytes = 1000;
  start(closed);
  const auto head = [](const std::string& more) {
    return "POST /v1/videos HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
           "Expect: 100-continue\r\nConnection: close\r\n" +
           more + "\r\n";
  };
  const std::string bearer = "Authorization: bearer correct-horse-battery\r\n";
  Socket socket(port());
  socket.send(head(bearer + "Content-Length: 1\r\n"));
  EXPECT_EQ(socket.receive(), "HTTP/1.1 100 Continue\r\n\r\n");
  socket.send("{");
  EXPECT_THAT(socket.receive().value_or(""), HasSubstr("400 Bad Request"));
  // No token, or a body that is too large: refused before it is sent.
  EXPECT_TRUE(exchange(head("Content-Length: 1\r\n")).starts_with("HTTP/1.1 401 "));
  EXPECT_TRUE(exchange(head(bearer + "Content-Length: 1001\r\n")).starts_with("HTTP/1.1 413 "));
}

// Trailer fields come after the body. They must not replace header fields.
TEST_F(Framing, IgnoresTrailerFieldsInAccessChecks) {
  start();
  const auto posted = [&](const std::string& fields, const std::string& trailers) {
    return exchange("POST /v1/videos HTTP/1.1\r\nContent-Type: application/json\r\n" + fields +
                    "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n" +
                    trailers + "\r\n");
  };
  EXPECT_THAT(posted("Host: localhost\r\n", ""), HasSubstr("400 Bad Request"));
  EXPECT_THAT(posted("Host: evil.org\r\n", "Host: localhost\r\n"), HasSubstr("403"));
  EXPECT_THAT(
      posted("Host: localhost\r\nOrigin: http://evil.org\r\n", "Origin: http://localhost\r\n"),
      HasSubstr("403"));
  // A trailer does not change what the request is either.
  EXPECT_THAT(posted("Host: localhost\r\n", "Content-Type: text/plain\r\nHost: evil.org\r\n"),
              HasSubstr("400 Bad Request"));
  ServerOptions closed = options(folder_);
  closed.access.token = "correct-horse-battery";
  start(closed);
  EXPECT_THAT(posted("Host: localhost\r\n", "Authorization: Bearer correct-horse-battery\r\n"),
              HasSubstr("401"));
}

}  // namespace
}  // namespace loci::serve::testing
