// SPDX-License-Identifier: Apache-2.0
#include "tests/serve/conformance.h"

#include <algorithm>

#include "loci/serve/protocol/schema.h"

namespace loci::serve::testing {

namespace {

// The keywords that the server's schema uses.
class Checker {
 public:
  explicit Checker(const Json& defs) : defs_(defs) {}

  std::string check(const Json& value, const Json& schema, const std::string& where) const {
    if (schema.contains("$ref")) {
      const std::string name = schema["$ref"].get<std::string>().substr(8);  // "#/$defs/"
      if (!defs_.contains(name)) return where + ": the schema does not define " + name;
      return check(value, defs_[name], where);
    }
    if (schema.contains("const") && value != schema["const"]) return differs(value, schema, where);
    if (schema.contains("enum")) {
      const Json& choices = schema["enum"];
      const bool known = std::find(choices.begin(), choices.end(), value) != choices.end();
      if (!known) return differs(value, schema, where);
    }
    if (schema.contains("type") && !has_type(value, schema)) return differs(value, schema, where);
    if (schema.contains("anyOf")) {
      const Json& choices = schema["anyOf"];
      if (std::none_of(choices.begin(), choices.end(),
                       [&](const Json& choice) { return check(value, choice, where).empty(); })) {
        return differs(value, schema, where);
      }
    }
    if (schema.contains("properties")) return check_fields(value, schema, where);
    if (value.is_array()) return check_items(value, schema, where);
    return "";
  }

 private:
  static std::string differs(const Json& value, const Json& schema, const std::string& where) {
    return where + ": " + value.dump() + " is not " + schema.dump();
  }

  static bool has_type(const Json& value, const Json& schema) {
    const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
    return std::any_of(types.begin(), types.end(), [&](const Json& type) {
      if (type == "object") return value.is_object();
      if (type == "array") return value.is_array();
      if (type == "integer") return value.is_number_integer();
      if (type == "number") return value.is_number();
      if (type == "boolean") return value.is_boolean();
      if (type == "null") return value.is_null();
      // Bytes are text in JSON only.
      return value.is_string() || (value.is_binary() && schema.contains("contentEncoding"));
    });
  }

  std::string check_fields(const Json& value, const Json& schema, const std::string& where) const {
    for (const Json& name : schema["required"]) {
      if (!value.contains(name)) return where + ": " + name.dump() + " is missing";
    }
    for (const auto& [name, field] : value.items()) {
      if (!schema["properties"].contains(name)) return where + ": " + name + " is undocumented";
      std::string found = check(field, schema["properties"][name], where + "." + name);
      if (!found.empty()) return found;
    }
    return "";
  }

  std::string check_items(const Json& value, const Json& schema, const std::string& where) const {
    if (value.size() < schema.value("minItems", size_t{0}) ||
        value.size() > schema.value("maxItems", SIZE_MAX)) {
      return where + ": wrong number of items";
    }
    if (!schema.contains("items")) return "";
    for (const Json& item : value) {
      std::string found = check(item, schema["items"], where + "[]");
      if (!found.empty()) return found;
    }
    return "";
  }

  const Json& defs_;
};

}  // namespace

std::string differs_from_schema(const Json& value, const std::string& name) {
  static const Json schema = protocol_schema(Limits());
  const Json& defs = schema["$defs"];
  if (!defs.contains(name)) return "the schema does not define " + name;
  return Checker(defs).check(value, defs[name], name);
}

}  // namespace loci::serve::testing
