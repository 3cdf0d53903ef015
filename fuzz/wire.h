// SPDX-License-Identifier: Apache-2.0
// A connection of the server without a network: the bytes of a client, and the server's answer.
#pragma once

#include <string>
#include <string_view>

namespace loci::fuzz {

// Sends the bytes to serve_connection() through a pair of local sockets, closes the client's
// direction, and returns everything that the server sends until it ends the connection. Runs in the
// calling thread.
std::string answer_of_server(std::string_view bytes);

}  // namespace loci::fuzz
