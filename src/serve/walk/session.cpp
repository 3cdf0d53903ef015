// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/session.h"

#include "loci/serve/net/refusal.h"
#include "loci/serve/protocol/fields.h"
#include "loci/serve/protocol/protocol.h"
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
    const Told told = tell_exception("a message");
    const auto echo = [&message](const char* name) {
      return message.is_object() ? message.value(name, Json()) : Json();
    };
    client_->send_error(told.code, told.message, !begun_, echo("event_id"), echo("request_id"));
    if (!begun_) client_->close(kPolicy, told.message);
  }
}

void Session::dispatch(const Json& message) {
  const std::string type = Fields(message).text("type", 64).value_or("");
  if (!begun_) {
    if (type != "init") refuse("bad_message", "the first message must be init");
    return init(message);
  }
  if (type == "event") {
    walk_->post(message);
    if (const Json id = message.value("event_id", Json()); !id.is_null()) {
      client_->send({{"type", "receipt"},
                     {"event_id", id},
                     {"kind", message.value("kind", Json())},
                     {"status", "received"}});
    }
  } else if (type == "save" || type == "fork" || type == "split" || type == "record") {
    walk_->post(message);
  } else if (type == "load") {
    load(message);
  } else if (type == "list_worlds") {
    send_worlds(message);
  } else if (type == "delete_world") {
    services_.worlds.remove(Fields(message).text("world", 100).value_or(""));
    send_worlds(message);
  } else if (type == "ping") {
    Json pong = message;
    pong["type"] = "pong";
    client_->send(pong);
  } else if (type == "init") {
    refuse("bad_message", "init was sent already; load opens another world");
  } else {
    refuse("bad_message", "unknown type");
  }
}

void Session::init(const Json& message) {
  const Fields fields(message);
  const int64_t version = fields.integer("protocol", 0, INT32_MAX).value_or(kProtocol);
  if (version != kProtocol) {
    refuse("unsupported_version", "this server speaks version {} of the protocol", kProtocol);
  }
  client_->set_output(OutputOptions::parse(message));
  WorldRequest request = WorldRequest::parse(message, services_.models, services_.limits);
  request.check_start(services_.starts);
  walk_ = services_.walks->open(std::move(request), client_);
  ++services_.metrics.sessions;
  begun_ = true;
  if (const Json* inputs = fields.find("condition_inputs"); inputs != nullptr) {
    const Json actions = inputs->is_object() ? inputs->value("camera_actions", Json()) : Json();
    if (!actions.is_null()) {
      walk_->post({{"type", "event"}, {"kind", "camera_actions"}, {"payload", actions}});
    }
  }
}

void Session::load(const Json& message) {
  WorldRequest request = WorldRequest::parse({{"world", message.value("world", Json(""))}},
                                             services_.models, services_.limits);
  services_.worlds.describe(request.world);  // refuses what is not there, before anything is left
  walk_->detach(*client_);
  client_->outbox().drop_frames();
  try {
    walk_ = services_.walks->open(std::move(request), client_);
  } catch (...) {
    walk_->attach(client_);
    throw;
  }
}

void Session::send_worlds(const Json& message) {
  Json worlds = services_.worlds.list()["data"];
  client_->send({{"type", "worlds"},
                 {"worlds", std::move(worlds)},
                 {"request_id", message.value("request_id", Json())}});
}

}  // namespace loci::serve
