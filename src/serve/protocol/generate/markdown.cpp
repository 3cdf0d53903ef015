// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "loci/base/error.h"
#include "loci/base/text.h"
#include "loci/serve/protocol/client_messages.h"
#include "loci/serve/protocol/generate/generate.h"
#include "loci/serve/protocol/http_bodies.h"
#include "loci/serve/protocol/server_messages.h"

namespace loci::serve {

namespace {

constexpr size_t kLongestRow = 120;     // characters
constexpr size_t kLongestChoices = 40;  // in the column of types
constexpr std::string_view kEnd = "<!-- end -->";

struct Described {
  const TableInfo* table;
  bool from_client;  // absent fields have defaults
};

const std::map<std::string, Described>& all_tables() {
  static const std::map<std::string, Described> all = [] {
    std::map<std::string, Described> tables;
    const auto add = [&](const std::vector<const TableInfo*>& list, bool from_client) {
      for (const TableInfo* table : list) tables[table->name] = {table, from_client};
    };
    add(client_message_tables(), true);
    add(client_map_tables(), true);
    add(server_message_tables(), false);
    add(server_map_tables(), false);
    add(http_tables(), false);
    for (const char* name : {"CreateVideo", "RenameWorld", "VideoQuery", "PathQuery"}) {
      tables[name].from_client = true;
    }
    return tables;
  }();
  return all;
}

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string row(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += " " + cell + " |";
  return text + "\n";
}

std::string header(const std::vector<std::string>& cells) {
  std::string text = row(cells) + "|";
  for (size_t i = 0; i < cells.size(); ++i) text += "---|";
  return text + "\n";
}

std::string type_in_words(const FieldInfo& field) {
  const Limits limits;
  const Rules& rules = field.rules;
  std::string words = field.type.words;
  if (!rules.registry.empty()) words = fmt::format("*{}*", rules.registry);
  if (!rules.choices.empty() && words.size() > kLongestChoices) words = "string";
  if (rules.low && rules.high) {
    words += fmt::format(", {} … {}", rules.low->value(limits), rules.high->value(limits));
  } else if (rules.low && !rules.most) {
    words += fmt::format(", ≥ {}", rules.low->value(limits));
  }
  if (rules.most) {
    const char* unit = words == "string" ? " bytes" : "";
    words += fmt::format(", ≤ {}{}", rules.most->value(limits), unit);
  }
  return words + (field.nullable ? " or null" : "");
}

std::string fields_table(const std::vector<std::string>& names) {
  const bool several = names.size() > 1;
  const auto known = [](const std::string& name) {
    const auto found = all_tables().find(name);
    if (found == all_tables().end()) fail("docs/protocol.md: there is no table named {}", name);
    return found->second;
  };
  const bool from_client = known(names.front()).from_client;
  std::vector<std::string> columns = {"field", "type"};
  if (several)
    columns.insert(columns.begin(), known(names.front()).table->is_message ? "message" : "map");
  if (from_client) columns.push_back("default");
  columns.push_back("meaning");
  std::string text = header(columns);
  for (const std::string& name : names) {
    const Described described = known(name);
    bool first = true;
    for (const FieldInfo& field : described.table->fields) {
      if (field.hidden || (described.table->is_message && field.name == "type")) continue;
      std::vector<std::string> cells;
      if (several) cells.push_back(first ? "`" + name + "`" : "");
      first = false;
      cells.push_back("`" + field.name + "`" + (field.ignored_with.empty() ? "" : " *"));
      std::string type = type_in_words(field);
      if (!from_client && !field.required) type += ", optional";
      cells.push_back(type);
      if (from_client) {
        const std::string absent = field.fallback.empty() ? "–" : field.fallback;
        cells.push_back(field.required ? "required" : absent);
      }
      cells.push_back(field.description);
      text += row(cells);
    }
  }
  return text;
}

std::string events_table() {
  std::string text = header({"kind", "payload", "meaning"});
  for (const EventKind& kind : event_kinds()) {
    text += row({"`" + kind.name + "`", kind.payload.words, kind.description});
  }
  return text;
}

std::string names_table() {
  std::map<std::string, std::vector<std::string>> registries;
  for (const auto& [name, described] : all_tables()) {
    for (const FieldInfo& field : described.table->fields) {
      if (!field.rules.registry.empty()) {
        registries[field.rules.registry] = field.rules.all_choices();
      }
    }
  }
  std::string text = header({"name", "values"});
  for (const auto& [name, values] : registries) {
    text += row({"*" + name + "*", fmt::format("`{}`", fmt::join(values, "`, `"))});
  }
  return text;
}

}  // namespace

std::string update_markdown(const std::string& page) {
  std::istringstream lines(page);
  std::string text, line, too_long;
  std::set<std::string> shown;
  while (std::getline(lines, line)) {
    text += line + "\n";
    if (!line.starts_with("<!-- ") || !line.ends_with(" -->")) continue;
    std::string table;
    const std::string marker = line.substr(5, line.size() - 9);
    if (marker == "events") {
      table = events_table();
    } else if (marker == "names") {
      table = names_table();
    } else if (marker.starts_with("fields ")) {
      std::vector<std::string> names;
      const std::string listed = marker.substr(7);
      for (const std::string_view name : split_whitespace(listed)) {
        names.emplace_back(name);
        shown.insert(names.back());
      }
      table = fields_table(names);
    } else {
      continue;
    }
    while (line != kEnd) {
      if (!std::getline(lines, line)) {
        fail("docs/protocol.md: {} is missing after the marker \"{}\"", kEnd, marker);
      }
    }
    for (const std::string_view each : split(table, '\n')) {
      if (characters(each) > kLongestRow) too_long += fmt::format("\n{}", each);
    }
    text += "\n" + table + "\n" + line + "\n";
  }
  if (!too_long.empty()) {
    fail("docs/protocol.md: these rows have more than {} characters; shorten their descriptions:{}",
         kLongestRow, too_long);
  }
  for (const auto& [name, described] : all_tables()) {
    const bool empty = std::none_of(described.table->fields.begin(), described.table->fields.end(),
                                    [&](const FieldInfo& field) {
                                      return !described.table->is_message || field.name != "type";
                                    });
    for (const FieldInfo& field : described.table->fields) {
      for (const std::string& choice : field.rules.choices) {
        if (text.find("`" + choice + "`") == std::string::npos) {
          fail("docs/protocol.md: `{}`, a value of {} in {}, is missing", choice, field.name, name);
        }
      }
    }
    if (!empty && !shown.contains(name)) {
      fail(
          "docs/protocol.md: the fields of {} are missing; add the markers "
          "\"<!-- fields {} -->\" and \"{}\"",
          name, name, kEnd);
    }
  }
  return text;
}

}  // namespace loci::serve
