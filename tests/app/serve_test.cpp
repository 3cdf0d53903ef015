// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>

#include "loci/base/file.h"

#include "tests/app/run_command.h"
#include "tests/sample/tiny_folder.h"

namespace loci::app {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

// The port is taken, so that a server that should not start ends in any case.
class Serve : public ::testing::Test {
 protected:
  Serve() : folder_(fs::path(::testing::TempDir()) / ("loci_serve_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    loci::testing::make_tiny_folder(folder_ / "tiny", 1);
    ::unsetenv("LOCI_TOKEN");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    taken_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::bind(taken_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(taken_, 1), 0);
    EXPECT_EQ(::getsockname(taken_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~Serve() override {
    ::close(taken_);
    ::unsetenv("LOCI_TOKEN");
    fs::remove_all(folder_);
  }

  std::string error_of(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"serve",
                                          "--model",
                                          (folder_ / "tiny").string(),
                                          "--data",
                                          (folder_ / "data").string(),
                                          "--port",
                                          std::to_string(port_)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_command(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    return outcome.err;
  }
  std::string token_file(const std::string& content) {
    const fs::path file = folder_ / "token.txt";
    write_file(file, content);
    return file.string();
  }

  const fs::path folder_;
  int taken_ = -1;
  uint16_t port_ = 0;
};

TEST_F(Serve, DoesNotStartIfATokenSourceHasNoValidToken) {
  EXPECT_THAT(error_of({}), HasSubstr("cannot listen"));
  for (const char* content : {"", " ", "\n", " \t\r\n \n"}) {
    const std::string error = error_of({"--token-file", token_file(content)});
    EXPECT_THAT(error, HasSubstr("--token-file"));
    EXPECT_THAT(error, HasSubstr("contains no token"));
  }
  for (const std::string& content :
       {std::string("short"), std::string("first-line-of-a-token\nsecond-line-of-a-token"),
        std::string("a token with spaces in it"), std::string("\xef\xbb\xbf-a-byte-order-mark"),
        std::string("null-byte-within\0a-token", 25)}) {
    EXPECT_THAT(error_of({"--token-file", token_file(content)}), HasSubstr("the token of"))
        << content;
  }
  EXPECT_THAT(error_of({"--token-file", ""}), HasSubstr("cannot read"));
  EXPECT_THAT(error_of({"--token-file", (folder_ / "none").string()}), HasSubstr("cannot read"));
  EXPECT_THAT(error_of({"--token-file", folder_.string()}), HasSubstr("not a regular file"));
  EXPECT_THAT(error_of({"--token-file", token_file("a-token-of-enough-characters\n")}),
              HasSubstr("cannot listen"));

  for (const char* value : {"", " ", "short"}) {
    ::setenv("LOCI_TOKEN", value, 1);
    EXPECT_THAT(error_of({}), HasSubstr("$LOCI_TOKEN")) << value;
  }
  // A file without a token does not fall back to the variable.
  ::setenv("LOCI_TOKEN", "a-token-of-enough-characters", 1);
  EXPECT_THAT(error_of({}), HasSubstr("cannot listen"));
  EXPECT_THAT(error_of({"--token-file", token_file("")}), HasSubstr("contains no token"));
  EXPECT_THAT(error_of({"--token-file", ""}), Not(HasSubstr("cannot listen")));
}

}  // namespace
}  // namespace loci::app
