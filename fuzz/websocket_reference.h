// SPDX-License-Identifier: Apache-2.0
// The frames of a WebSocket according to RFC 6455: an independent reference for the server.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace loci::fuzz {

struct WebSocketMessage {
  bool text = false;
  std::string bytes;
};

// The complete messages that a server may deliver before the first violation of the protocol, the
// first close frame or the end of the stream.
std::vector<WebSocketMessage> websocket_messages(std::string_view sent_by_client);

// The same for a stream of a server, which must contain no violation. An incomplete frame may end
// it. Throws loci::Error (a failed check) otherwise.
std::vector<WebSocketMessage> checked_websocket_messages(std::string_view sent_by_server);

}  // namespace loci::fuzz
