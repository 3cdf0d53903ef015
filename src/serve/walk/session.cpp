// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/session.h"

#include "loci/serve/net/refusal.h"
#include "loci/serve/protocol/protocol.h"
#include "loci/serve/protocol/server_messages.h"
#include "loci/serve/walk/walk.h"
#include "loci/serve/walk/walk_registry.h"

namespace loci::serve {

Session::Session(Services& services, std::shared_ptr<Client> client)
    : services_(services), client_(std::move(client)), rate_(services.limits.messages_per_second) {}

Session::~Session() {
  if (walk_ == nullptr) return;
  walk_->detach(*client_);
  --services_.metrics.sessions;
}

void Session::receive(std::string_view bytes, bool text) {
  ++services_.metrics.messages_received;
  Json message;
  try {
    if (!rate_.take()) {
      client_->send_error("limit", "too many messages", true);
      client_->close(kPolicy, "too many messages");
      return;
    }
    const Encoding encoding = text ? Encoding::kJson : Encoding::kMessagePack;
    if (!begun_) client_->set_encoding(encoding);
    message = decode_message(bytes, encoding, services_.limits.message_depth);
    dispatch(message);
  } catch (...) {
    ++services_.metrics.messages_refused;
    const ErrorReply reply = reply_to_exception("a message");
    const auto echo = [&message](const char* name) {
      return message.is_object() ? message.value(name, Json()) : Json();
    };
    client_->send_error(reply.code, reply.message, !begun_, echo("event_id"), echo("request_id"));
    if (!begun_) client_->close(kPolicy, reply.message);
  }
}

void Session::dispatch(const Json& message) {
  const bool is_init = message_type(message) == "init";
  if (!begun_ && !is_init) refuse("bad_message", "type: the first message must be init");
  if (begun_ && is_init) {
    refuse("bad_message", "type: init was sent before; load opens another world");
  }
  std::visit([this](auto&& parsed) { handle(std::forward<decltype(parsed)>(parsed)); },
             parse_client_message(message, services_.limits));
}

void Session::handle(InitMessage message) {
  if (message.protocol != kProtocol) {
    refuse("unsupported_version", "protocol: expected {}, got {}", kProtocol, message.protocol);
  }
  client_->set_output(message.output);
  WorldRequest request =
      WorldRequest::resolve(message.world, message.settings, services_.models, services_.limits);
  request.check_start(services_.starts);
  walk_ = services_.walks->open(std::move(request), client_);
  ++services_.metrics.sessions;
  begun_ = true;
  if (message.condition_inputs && message.condition_inputs->camera_actions) {
    EventMessage first{"camera_actions", std::nullopt, EventPayload()};
    first.payload = std::move(*message.condition_inputs->camera_actions);
    walk_->post(std::move(first));
  }
}

void Session::handle(WalkMessage message) {
  const auto* event = std::get_if<EventMessage>(&message);
  std::optional<ReceiptMessage> receipt;
  if (event != nullptr && event->event_id) {
    receipt = ReceiptMessage{*event->event_id, event->kind, "received", std::nullopt};
  }
  walk_->post(std::move(message));
  if (receipt) client_->send(to_wire(*receipt));
}

void Session::handle(const LoadMessage& message) {
  WorldRequest request =
      WorldRequest::resolve(message.world, {}, services_.models, services_.limits);
  services_.worlds.describe(request.world);  // refuses unknown worlds while this one is still open
  walk_->detach(*client_);
  client_->outbox().drop_frames();
  try {
    walk_ = services_.walks->open(std::move(request), client_);
  } catch (...) {
    walk_->attach(client_);
    throw;
  }
}

void Session::handle(const ListWorldsMessage& message) { send_worlds(message.request_id); }

void Session::handle(const DeleteWorldMessage& message) {
  services_.worlds.remove(message.world);
  send_worlds(message.request_id);
}

void Session::handle(const PingMessage& message) {
  Json pong = message.fields;
  pong["type"] = "pong";
  client_->send(pong);
}

void Session::send_worlds(const Json& request_id) {
  client_->send(to_wire(WorldsMessage{services_.worlds.list(), request_id}));
}

}  // namespace loci::serve
