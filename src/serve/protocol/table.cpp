// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/protocol/table.h"

#include <algorithm>
#include <cctype>

#include "loci/serve/net/refusal.h"

namespace loci::serve {

namespace {

// Null where the field is absent.
const Json* find_value(const Json& json, const std::string& name) {
  if (name.empty()) return nullptr;
  const auto found = json.find(name);
  return found == json.end() || found->is_null() ? nullptr : &*found;
}

std::string quoted_choices(const std::vector<std::string>& choices, const char* between,
                           char mark) {
  std::string all;
  for (const std::string& choice : choices) {
    if (!all.empty()) all += between;
    all += mark + choice + mark;
  }
  return all;
}

}  // namespace

FieldInfo& FieldInfo::require() {
  required = true;
  return *this;
}

FieldInfo& FieldInfo::or_null() {
  required = nullable = true;
  return *this;
}

FieldInfo& FieldInfo::default_is(std::string words) {
  fallback = std::move(words);
  return *this;
}

FieldInfo& FieldInfo::between(Bound low, Bound high) {
  rules.low = std::move(low);
  rules.high = std::move(high);
  return *this;
}

FieldInfo& FieldInfo::at_least(Bound low) {
  rules.low = std::move(low);
  return *this;
}

FieldInfo& FieldInfo::clamp(double low, double high) {
  rules.clamp = true;
  return between(low, high);
}

FieldInfo& FieldInfo::at_most(Bound most) {
  rules.most = std::move(most);
  return *this;
}

FieldInfo& FieldInfo::one_of(std::vector<std::string> choices) {
  type = {
      {{"enum", choices}}, quoted_choices(choices, " | ", '"'), quoted_choices(choices, ", ", '`')};
  rules.choices = std::move(choices);
  return *this;
}

FieldInfo& FieldInfo::one_of(std::string registry,
                             std::function<std::vector<std::string>()> names) {
  type = {{{"$ref", "#/$defs/" + registry}}, "string", "string"};
  rules.registry = std::move(registry);
  rules.registered = std::move(names);
  return *this;
}

FieldInfo& FieldInfo::also_named(std::string other) {
  alias = std::move(other);
  return *this;
}

FieldInfo& FieldInfo::null_allowed() {
  nullable = true;
  return *this;
}

const FieldInfo* TableInfo::find(const std::string& field) const {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const FieldInfo& each) { return each.name == field; });
  return found == fields.end() ? nullptr : &*found;
}

TypeInfo TableInfo::type() const {
  return {{{"$ref", "#/$defs/" + name}}, typescript_name(), "`" + name + "`"};
}

std::string TableInfo::typescript_name() const {
  if (!is_message) return name;
  std::string camel;
  bool capital = true;
  for (const char c : name) {
    if (c != '_') camel += capital ? static_cast<char>(std::toupper(c)) : c;
    capital = c == '_';
  }
  return camel + "Message";
}

void TableInfo::read_fields(void* object, const Json& json, const Limits& limits,
                            const std::string& where) const {
  for (const FieldInfo& field : fields) {
    if (!field.read || find_value(json, field.ignored_with) != nullptr) continue;
    const Json* value = find_value(json, field.name);
    if (value == nullptr) value = find_value(json, field.alias);
    const std::string path = where.empty() ? field.name : where + "." + field.name;
    if (value != nullptr) {
      field.read(object, {*value, field.rules, limits, path});
    } else if (field.required) {
      const std::vector<std::string> choices = field.rules.all_choices();
      if (choices.empty()) refuse("bad_request", "{}: this field is required", path);
      refuse("bad_request", "{}: this field is required; choose one of: {}", path,
             fmt::join(choices, ", "));
    }
  }
}

Json TableInfo::write_fields(const void* object) const {
  Json json = Json::object();
  for (const FieldInfo& field : fields) {
    if (!field.constant.empty()) json[field.name] = field.constant;
    if (field.nullable && field.required) json[field.name] = nullptr;
    if (field.write) field.write(object, json);
    // Ids of requests: a null is one that the client did not send.
    if (!field.nullable && json.contains(field.name) && json[field.name].is_null()) {
      json.erase(field.name);
    }
  }
  return json;
}

}  // namespace loci::serve
