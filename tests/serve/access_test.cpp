// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/net/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/base/log.h"
#include "loci/serve/protocol/ids.h"

#include "tests/base/expect_error.h"
#include "tests/serve/running_server.h"

namespace loci::serve {
namespace {

using ::testing::HasSubstr;
using testing::http;
using testing::WalkClient;

constexpr const char* kToken = "correct-horse-battery";

HttpRequest with(std::map<std::string, std::string> headers) {
  HttpRequest request;
  request.headers = std::move(headers);
  return request;
}

TEST(Access, ChecksTokenOriginAndHost) {
  const Access closed({kToken, {"https://a.org"}, false});
  EXPECT_FALSE(closed.authorised(with({})));
  EXPECT_FALSE(closed.authorised(with({{"authorization", "Bearer wrong"}})));
  EXPECT_TRUE(closed.authorised(with({{"authorization", std::string("Bearer ") + kToken}})));
  EXPECT_TRUE(closed.authorised(with({{"cookie", std::string("a=b; loci_token=") + kToken}})));
  EXPECT_FALSE(closed.authorised(with({{"cookie", std::string("xloci_token=") + kToken}})));
  EXPECT_TRUE(closed.origin_allowed(with({{"host", "b.org"}})));
  EXPECT_TRUE(closed.origin_allowed(with({{"host", "b.org"}, {"origin", "https://a.org"}})));
  EXPECT_TRUE(closed.origin_allowed(with({{"host", "b.org"}, {"origin", "https://b.org"}})));
  EXPECT_FALSE(closed.origin_allowed(with({{"host", "b.org"}, {"origin", "https://c.org"}})));
  EXPECT_FALSE(closed.origin_allowed(with({{"host", "b.org"}, {"origin", "null"}})));

  EXPECT_TRUE(closed.authorised(with({{"authorization", std::string("bearer ") + kToken}})));
  EXPECT_TRUE(closed.authorised(with({{"authorization", std::string("BEARER  ") + kToken}})));
  EXPECT_FALSE(closed.authorised(with({{"authorization", std::string("Basic ") + kToken}})));
  EXPECT_TRUE(closed.origin_allowed(with({{"host", "B.org"}, {"origin", "https://b.org"}})));

  const Access open({std::nullopt, {}, true});
  EXPECT_TRUE(open.authorised(with({})));
  for (const char* host :
       {"localhost", "localhost:8080", "LOCALHOST", "LocalHost:80", "127.0.0.1:1", "[::1]:80"}) {
    EXPECT_TRUE(open.host_allowed(with({{"host", host}}))) << host;
  }
  for (const char* host :
       {"evil.org", "localhost.evil.org", "127.evil.org", "127.0.0.1.evil.org:8080", "", "[::2]"}) {
    EXPECT_FALSE(open.host_allowed(with({{"host", host}}))) << host;
  }
  EXPECT_TRUE(is_loopback("127.0.0.1"));
  EXPECT_FALSE(is_loopback("0.0.0.0"));
  EXPECT_FALSE(is_loopback("::"));
}

TEST(Access, RefusesTokensWithoutRevealingThem) {
  check_token(kToken, "$LOCI_TOKEN");
  const auto error_of = [](const std::string& token) {
    try {
      check_token(token, "--token-file t");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(error_of(""), HasSubstr("--token-file t contains no token"));
  EXPECT_THAT(error_of("short-secret"), HasSubstr("12 characters; use at least 16"));
  EXPECT_THAT(error_of("two words of a secret"), HasSubstr("not allowed in cookies"));
  for (const char* token : {"short-secret", "two-lines-of\na-secret", "a-secret;with-semicolon"}) {
    EXPECT_THAT(error_of(token), ::testing::Not(HasSubstr("secret"))) << token;
  }
}

TEST(Ids, ChecksEveryCharacter) {
  const std::string id = new_id("world");
  EXPECT_TRUE(is_id(id, "world"));
  EXPECT_NE(id, new_id("world"));
  EXPECT_FALSE(is_id(id, "video"));
  EXPECT_FALSE(is_id(id + "a", "world"));
  EXPECT_FALSE(is_id("world_../../../../../../etc/pw", "world"));
  EXPECT_FALSE(is_id("world_abcdefghijklmnopqrstuvwx/.", "world"));
}

class AccessOverTheNetwork : public testing::RunningServer {};

TEST_F(AccessOverTheNetwork, RequiresATokenUnlessOnLoopback) {
  ServerOptions open = options(folder_);
  open.address = "0.0.0.0";
  LOCI_EXPECT_ERROR(Server(ServerOptions(open)), kBadInput, HasSubstr("token"));
  open.access.token = "short";
  LOCI_EXPECT_ERROR(Server(ServerOptions(open)), kBadInput, HasSubstr("at least 16"));
  open.access.token = "";
  LOCI_EXPECT_ERROR(Server(ServerOptions(open)), kBadInput, HasSubstr("no token"));
  open.address = "127.0.0.1";
  LOCI_EXPECT_ERROR(Server(ServerOptions(open)), kBadInput, HasSubstr("no token"));
  open.address = "0.0.0.0";
  open.access.token = kToken;
  start(open);
  for (const char* target : {"/v1/models", "/v1/worlds", "/v1/videos", "/metrics", "/schema"}) {
    EXPECT_EQ(http(port(), "GET", target).status, 401) << target;
  }
  EXPECT_EQ(http(port(), "GET", "/health").status, 200);
  EXPECT_EQ(http(port(), "GET", "/").status, 200);
  EXPECT_EQ(http(port(), "GET", "/?token=wrong").status, 401);
  const testing::Headers bearer = {{"Authorization", std::string("Bearer ") + kToken}};
  EXPECT_EQ(http(port(), "GET", "/v1/models", bearer).status, 200);
  const testing::Answer login = http(port(), "GET", std::string("/?token=") + kToken);
  EXPECT_EQ(login.status, 303);
  EXPECT_EQ(login.headers.at("location"), "/");
  const std::string cookie = login.headers.at("set-cookie");
  EXPECT_THAT(cookie, ::testing::AllOf(HasSubstr("HttpOnly"), HasSubstr("SameSite=Strict")));
  const testing::Headers known = {{"Cookie", cookie.substr(0, cookie.find(';'))}};
  EXPECT_EQ(http(port(), "GET", "/v1/models", known).status, 200);
  EXPECT_EQ(WalkClient(port()).status(), 401);
  EXPECT_EQ(WalkClient(port(), false, bearer).status(), 101);
  EXPECT_EQ(WalkClient(port(), false, known).status(), 101);
}

// Requests that mention the token in every place where a client might put it.
TEST_F(AccessOverTheNetwork, NeverRevealsTheToken) {
  ServerOptions closed = options(folder_);
  closed.access.token = kToken;
  start(closed);
  const LogLevel before = log_level();
  set_log_level(LogLevel::kDebug);
  ::testing::internal::CaptureStderr();
  const std::string token = kToken;
  const std::string bearer = "Bearer " + token;
  std::string said;
  const auto ask = [&](const std::string& method, const std::string& target,
                       const testing::Headers& headers, const std::string& body = "") {
    const testing::Answer answer = http(port(), method, target, headers, body);
    for (const auto& [name, value] : answer.headers) {
      // The cookie hands the token to a client that has just sent it.
      if (name != "set-cookie") said += name + ": " + value + "\n";
    }
    said += answer.body;
    return answer;
  };
  const testing::Headers known = {{"Authorization", bearer}, {"Content-Type", "application/json"}};
  for (const std::string& path :
       {std::string("/"), std::string("/index.html"), std::string("/none")}) {
    const testing::Answer login = ask("GET", path + "?token=" + token, {});
    EXPECT_EQ(login.status, 303) << path;
    EXPECT_EQ(login.headers.at("location"), "/") << path;
    EXPECT_EQ(ask("GET", path + "?token=" + token + "x", {}).status, 401) << path;
  }
  for (const std::string& target :
       {"/v1/worlds/" + token, "/v1/videos/" + token, "/v1/videos?after=" + token,
        "/v1/starts/" + token + "/picture", "/" + token, "/v1/models?token=" + token,
        "/%zz?token=" + token, "/metrics?token=" + token}) {
    for (const testing::Headers& headers : {testing::Headers(), known}) {
      ask("GET", target, headers);
      ask("DELETE", target, headers);
      ask("POST", target, headers, R"({"model": ")" + token + "\"}");
    }
  }
  ask("GET", "/v1/models", {{"Authorization", "Basic " + token}});
  ask("GET", "/v1/models", {{"Authorization", bearer}, {"Authorization", bearer}});
  ask("GET", "/v1/models", {{"Cookie", "loci_token=" + token + "x"}});
  ask("POST", "/v1/videos", {{"Origin", "http://" + token}, {"Authorization", bearer}}, "{}");
  ask("POST", "/v1/videos", {{"Transfer-Encoding", token}, {"Authorization", bearer}});
  WalkClient walk(port(), true, {{"Authorization", bearer}});
  for (const char* field : {"world", "model", "start"}) {
    WalkClient wrong(port(), true, {{"Authorization", bearer}});
    wrong.send({{"type", "init"}, {field, token}});
    said += wrong.until("error").dump();
  }
  walk.send({{"type", "init"}, {"paused", true}});
  walk.until("session");
  walk.send({{"type", token}});
  said += walk.until("error").dump();
  const std::string metrics = ask("GET", "/metrics", {{"Authorization", bearer}}).body;
  EXPECT_THAT(metrics, HasSubstr("loci_http_requests_total"));
  stop();
  set_log_level(before);
  said += ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find(token), said.npos) << said.substr(said.find(token) - 200, 400);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "data")) {
    if (!entry.is_regular_file()) continue;
    EXPECT_EQ(read_file(entry.path()).find(token), std::string::npos) << entry.path();
  }
}

TEST_F(AccessOverTheNetwork, RefusesPagesOfOtherOrigins) {
  ServerOptions own = options(folder_);
  own.access.origins = {"https://friend.org"};
  start(own);
  const std::string here = "127.0.0.1:" + std::to_string(port());
  const auto upgrade = [&](const std::string& origin, const std::string& host) {
    return WalkClient(port(), false, {{"Origin", origin}, {"Host", host}}).status();
  };
  EXPECT_EQ(upgrade("http://" + here, here), 101);
  EXPECT_EQ(upgrade("https://friend.org", here), 101);
  EXPECT_EQ(upgrade("https://evil.org", here), 403);
  EXPECT_EQ(upgrade("null", here), 403);
  // DNS rebinding: a foreign name that resolves to this machine.
  EXPECT_EQ(upgrade("http://evil.org", "evil.org"), 403);
  EXPECT_EQ(http(port(), "GET", "/v1/worlds", {{"Host", "evil.org"}}).status, 403);
  EXPECT_EQ(http(port(), "POST", "/v1/videos",
                 {{"Origin", "https://evil.org"}, {"Content-Type", "application/json"}}, "{}")
                .status,
            403);
  EXPECT_EQ(http(port(), "GET", "/v1/models").headers.at("x-content-type-options"), "nosniff");
}

}  // namespace
}  // namespace loci::serve
