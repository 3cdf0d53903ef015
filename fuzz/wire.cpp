// SPDX-License-Identifier: Apache-2.0
#include "fuzz/wire.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <exception>
#include <utility>  // asio of Boost 1.74 relies on it being there

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>

#include "loci/base/error.h"
#include "loci/serve/net/network.h"

#include "fuzz/tiny_services.h"

namespace loci::fuzz {

namespace {

namespace asio = boost::asio;

// Larger than the input of any target, so that one write does not block.
constexpr int kSocketBuffer = 1 << 20;
constexpr std::chrono::milliseconds kPiece(20);
constexpr std::chrono::seconds kMost(20);

struct Peer {
  ~Peer() { ::close(descriptor); }
  // Appends what has arrived.
  void receive(std::string& to) const {
    std::array<char, 16 << 10> piece{};
    for (;;) {
      const ssize_t got = ::recv(descriptor, piece.data(), piece.size(), MSG_DONTWAIT);
      if (got <= 0) return;
      to.append(piece.data(), static_cast<size_t>(got));
    }
  }
  int descriptor;
};

}  // namespace

std::string answer_of_server(std::string_view bytes) {
  static const serve::Access access{serve::AccessOptions{}};
  static serve::Api api(tiny_services(), access);
  static serve::Network network(tiny_services(), api);
  static asio::io_context context(1);
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    fail_machine("cannot create a pair of sockets");
  }
  const Peer peer{pair[1]};
  // asio does not look at the family of an assigned socket.
  asio::ip::tcp::socket socket(asio::make_strand(context), asio::ip::tcp::v4(), pair[0]);
  ::setsockopt(peer.descriptor, SOL_SOCKET, SO_SNDBUFFORCE, &kSocketBuffer, sizeof kSocketBuffer);
  if (::send(peer.descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(bytes.size())) {
    fail("the input of {} bytes does not fit into the buffer of a socket", bytes.size());
  }
  ::shutdown(peer.descriptor, SHUT_WR);
  const std::string address = "127.0.0.1";
  const auto executor = socket.get_executor();
  std::exception_ptr thrown;
  asio::co_spawn(executor,
                 serve::serve_connection(network, serve::TcpStream(std::move(socket)), address,
                                         network.connections.enter(address)),
                 [&thrown](const std::exception_ptr& error) { thrown = error; });
  std::string answer;
  context.restart();
  const auto deadline = std::chrono::steady_clock::now() + kMost;
  while (!context.stopped()) {
    context.run_one_for(kPiece);
    peer.receive(answer);
    LOCI_CHECK(std::chrono::steady_clock::now() < deadline, "the connection does not end");
  }
  peer.receive(answer);
  if (thrown) std::rethrow_exception(thrown);
  return answer;
}

}  // namespace loci::fuzz
