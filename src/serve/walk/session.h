// SPDX-License-Identifier: Apache-2.0
// The server's end of one WebSocket: it dispatches the client's messages to a walk.
#pragma once

#include <memory>
#include <string_view>

#include "loci/serve/engine/services.h"
#include "loci/serve/net/client.h"
#include "loci/serve/net/rate_limit.h"
#include "loci/serve/protocol/client_messages.h"

namespace loci::serve {

class Walk;

// Used by one connection's strand only.
class Session {
 public:
  Session(Services& services, std::shared_ptr<Client> client);
  ~Session();

  // Handles a message and answers through the client. Never throws.
  void receive(std::string_view bytes, bool text);
  // Whether `init` was accepted.
  bool begun() const { return begun_; }

 private:
  void dispatch(const Json& message);
  void handle(InitMessage message);
  void handle(WalkMessage message);
  void handle(const LoadMessage& message);
  void handle(const ListWorldsMessage& message);
  void handle(const DeleteWorldMessage& message);
  void handle(const PingMessage& message);
  void send_worlds(const Json& request_id);

  Services& services_;
  std::shared_ptr<Client> client_;
  std::shared_ptr<Walk> walk_;
  TokenBucket rate_;
  bool begun_ = false;
};

}  // namespace loci::serve
