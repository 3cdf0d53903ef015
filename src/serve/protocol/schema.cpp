// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/protocol/schema.h"

#include <string>
#include <vector>

#include "loci/serve/protocol/client_messages.h"
#include "loci/serve/protocol/http_bodies.h"
#include "loci/serve/protocol/protocol.h"
#include "loci/serve/protocol/server_messages.h"

namespace loci::serve {

namespace {

Json number_in_json(double value, bool integer) {
  return integer ? Json(static_cast<int64_t>(value)) : Json(value);
}

Json field_schema(const FieldInfo& field, const Limits& limits) {
  Json schema = field.type.schema;
  const Rules& rules = field.rules;
  const std::string type =
      schema.contains("type") && schema["type"].is_string() ? schema["type"] : Json("");
  if ((type == "integer" || type == "number") && !rules.clamp) {
    const bool integer = type == "integer";
    if (rules.low) schema["minimum"] = number_in_json(rules.low->value(limits), integer);
    if (rules.high) schema["maximum"] = number_in_json(rules.high->value(limits), integer);
  }
  if (type == "array" && !rules.clamp) {
    if (rules.low) schema["minItems"] = number_in_json(rules.low->value(limits), true);
    if (rules.most) schema["maxItems"] = number_in_json(rules.most->value(limits), true);
  }
  if (field.nullable) schema = {{"anyOf", {schema, {{"type", "null"}}}}};
  if (!field.description.empty()) schema["description"] = field.description;
  return schema;
}

Json table_schema(const TableInfo& table, const Limits& limits) {
  Json properties = Json::object(), required = Json::array();
  for (const FieldInfo& field : table.fields) {
    if (field.hidden) continue;
    properties[field.name] = field_schema(field, limits);
    if (!field.alias.empty()) properties[field.alias] = properties[field.name];
    if (field.required) required.push_back(field.name);
  }
  return {{"type", "object"},
          {"description", table.description},
          {"properties", std::move(properties)},
          {"required", std::move(required)}};
}

// The payload of an event depends on its kind.
Json event_payloads() {
  Json all = Json::array();
  for (const EventKind& kind : event_kinds()) {
    Json required = Json::array({"kind"});
    if (kind.payload_required) required.push_back("payload");
    all.push_back(
        {{"properties", {{"kind", {{"const", kind.name}}}, {"payload", kind.payload.schema}}},
         {"required", std::move(required)},
         {"description", kind.description}});
  }
  return all;
}

Json any_of_tables(const std::vector<const TableInfo*>& tables) {
  Json list = Json::array();
  for (const TableInfo* table : tables) list.push_back(table->type().schema);
  return {{"anyOf", std::move(list)}};
}

// Names that fields refer to, such as the history policies.
void add_registries(Json& defs, const TableInfo& table) {
  for (const FieldInfo& field : table.fields) {
    if (field.rules.registered) {
      defs[field.rules.registry] = {{"enum", field.rules.all_choices()}};
    }
  }
}

}  // namespace

Json protocol_schema(const Limits& limits) {
  Json defs = Json::object();
  for (const auto& tables : {client_map_tables(), client_message_tables(), server_map_tables(),
                             server_message_tables(), http_tables()}) {
    for (const TableInfo* table : tables) {
      defs[table->name] = table_schema(*table, limits);
      add_registries(defs, *table);
    }
  }
  defs["event"]["anyOf"] = event_payloads();
  defs["Pose"] = {{"type", "array"},
                  {"items", {{"type", "number"}}},
                  {"minItems", 7},
                  {"maxItems", 7},
                  {"description", "x y z qw qx qy qz, camera to world, OpenCV axes, metres"}};
  defs["ClientMessage"] = any_of_tables(client_message_tables());
  defs["ServerMessage"] = any_of_tables(server_message_tables());
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "loci"},
          {"description", "messages of the WebSocket and bodies of the HTTP routes"},
          {"protocol", kProtocol},
          {"$defs", std::move(defs)}};
}

}  // namespace loci::serve
