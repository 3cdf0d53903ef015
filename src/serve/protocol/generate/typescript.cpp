// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <fmt/format.h>

#include "loci/serve/protocol/client_messages.h"
#include "loci/serve/protocol/generate/generate.h"
#include "loci/serve/protocol/http_bodies.h"
#include "loci/serve/protocol/server_messages.h"

namespace loci::serve {

namespace {

constexpr const char* kHead =
    R"(// SPDX-License-Identifier: Apache-2.0
// Generated from the tables in src/serve/protocol by `ninja -C build/release protocol`; do not edit.
// docs/protocol.md describes every message.

/** x, y, z in metres, then the unit quaternion w, x, y, z; camera to world, OpenCV axes. */
export type WirePose = number[];
)";

std::string interface_of(const TableInfo& table) {
  std::string text = fmt::format("\n/** {} */\nexport interface {} {{\n", table.description,
                                 table.typescript_name());
  for (const FieldInfo& field : table.fields) {
    if (field.hidden) continue;
    if (!field.description.empty()) text += fmt::format("  /** {} */\n", field.description);
    text += fmt::format("  {}{}: {}{};\n", field.name, field.required ? "" : "?",
                        field.type.typescript, field.nullable ? " | null" : "");
  }
  return text + "}\n";
}

std::string union_of(const char* name, const char* description,
                     const std::vector<const TableInfo*>& tables) {
  std::string text = fmt::format("\n/** {} */\nexport type {} =", description, name);
  for (const TableInfo* table : tables) text += "\n  | " + table->typescript_name();
  return text + ";\n";
}

std::string payload_types() {
  std::string text =
      "\n/** The payloads of events, by kind. */\nexport interface EventPayloads {\n";
  for (const EventKind& kind : event_kinds()) {
    const bool optional = !kind.payload_required && kind.payload.typescript != "undefined";
    text += fmt::format("  /** {} */\n  {}: {}{};\n", kind.description, kind.name,
                        kind.payload.typescript, optional ? " | undefined" : "");
  }
  return text + "}\n\nexport type EventKind = keyof EventPayloads;\n";
}

}  // namespace

std::string typescript_of_protocol() {
  std::string text = kHead;
  for (const auto& tables : {client_map_tables(), server_map_tables(), http_tables(),
                             client_message_tables(), server_message_tables()}) {
    for (const TableInfo* table : tables) text += interface_of(*table);
  }
  text += payload_types();
  text += union_of("ClientMessage", "Messages of the page.", client_message_tables());
  text += union_of("ServerMessage", "Messages of the server.", server_message_tables());
  return text;
}

}  // namespace loci::serve
