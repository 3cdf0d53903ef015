// SPDX-License-Identifier: Apache-2.0
#include "loci/base/config.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "loci/base/choice.h"
#include "loci/base/file.h"
#include "loci/base/text.h"

namespace loci {

namespace {

// nlohmann's messages start with "[json.exception.parse_error.101] parse error at line 1, column 2:
// …"
std::string readable(const char* what) {
  std::string_view message = what;
  const size_t bracket = message.find("] ");
  if (bracket != std::string_view::npos) message.remove_prefix(bracket + 2);
  return shorten(one_line(message), 200);
}

// Deeper nesting could overflow the stack of recursive functions.
constexpr int kMaxDepth = 200;

}  // namespace

Json parse_json(std::string_view text, const std::string& source) {
  std::vector<std::set<std::string>> keys;  // of the open objects, outermost first
  const auto check = [&keys](int depth, Json::parse_event_t event, const Json& parsed) {
    if (depth > kMaxDepth) fail("more than {} levels of nesting", kMaxDepth);
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) fail("the key '{}' is given twice", key);
    }
    return true;
  };
  try {
    return Json::parse(text, check, /*allow_exceptions=*/true, /*ignore_comments=*/true);
  } catch (const Json::exception& error) {
    fail("{}: not valid JSON: {}", source, readable(error.what()));
  } catch (const Error& error) {
    fail("{}: not valid JSON: {}", source, error.what());
  }
}

Json load_json(const std::filesystem::path& path) {
  return parse_json(read_file(path, uint64_t{256} << 20), path.string());
}

void apply_setting(Json& root, std::string_view assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    fail("--set {}: expected KEY=VALUE, e.g. --set optimizer.clip=1", assignment);
  }
  const std::string_view value = assignment.substr(equals + 1);
  Json* node = &root;
  for (const std::string_view key : split(assignment.substr(0, equals), '.')) {
    if (key.empty()) fail("--set {}: the key contains an empty name", assignment);
    if (node->is_null()) *node = Json::object();
    if (!node->is_object()) {
      fail("--set {}: the value before '{}' is of type {}, not a section; set that value instead",
           assignment, key, node->type_name());
    }
    node = &(*node)[std::string(key)];
  }
  Json parsed = Json::parse(value, nullptr, /*allow_exceptions=*/false);
  *node = parsed.is_discarded() ? Json(std::string(value)) : std::move(parsed);
}

ConfigReader::ConfigReader(const Json& object, std::string where)
    : node_(std::make_shared<Node>(Node{object, std::move(where), {}, {}})) {
  if (!object.is_object()) {
    fail("{}: expected a JSON object, found a {}", node_->where, object.type_name());
  }
}

std::string ConfigReader::choose(const std::string& key, const std::string& fallback,
                                 const std::vector<std::string>& choices) const {
  std::string value = get<std::string>(key, fallback);
  if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
    fail("{}: {}", node_->where, unknown_choice(key, value, choices));
  }
  return value;
}

ConfigReader ConfigReader::section(const std::string& key) const {
  const Json* value = find(key);
  if (value != nullptr && !value->is_object()) wrong_type(key, *value, "a section { … }");
  auto& taken = node_->sections[key];
  if (taken.empty()) {
    taken.push_back(std::make_shared<Node>(Node{value == nullptr ? Json::object() : *value,
                                                fmt::format("{}: {}", node_->where, key),
                                                {},
                                                {}}));
  }
  return ConfigReader(taken.front());
}

std::vector<ConfigReader> ConfigReader::sections(const std::string& key) const {
  const Json* value = find(key);
  if (value == nullptr) return {};
  const auto is_object = [](const Json& element) { return element.is_object(); };
  if (!value->is_array() || !std::all_of(value->begin(), value->end(), is_object)) {
    wrong_type(key, *value, "a list of sections [{ … }, …]");
  }
  auto& taken = node_->sections[key];
  for (size_t i = taken.size(); i < value->size(); ++i) {
    taken.push_back(std::make_shared<Node>(
        Node{(*value)[i], fmt::format("{}: {}[{}]", node_->where, key, i), {}, {}}));
  }
  std::vector<ConfigReader> list;
  for (const auto& node : taken) list.push_back(ConfigReader(node));
  return list;
}

void ConfigReader::ignore(const std::vector<std::string>& keys) const {
  node_->known.insert(keys.begin(), keys.end());
}

void ConfigReader::finish() const { finish(*node_); }

void ConfigReader::finish(const Node& node) {
  for (const auto& [key, value] : node.object.items()) {
    if (node.known.contains(key)) continue;
    const std::vector<std::string> known(node.known.begin(), node.known.end());
    const std::string_view near = nearest(key, known);
    if (near.empty()) {
      fail("{}: unknown key '{}'; known keys: {}", node.where, key, fmt::join(known, ", "));
    }
    fail("{}: unknown key '{}'; did you mean '{}'?", node.where, key, near);
  }
  for (const auto& [key, nodes] : node.sections) {
    for (const auto& section : nodes) finish(*section);
  }
}

const Json* ConfigReader::find(const std::string& key) const {
  node_->known.insert(key);
  const auto found = node_->object.find(key);
  return found == node_->object.end() || found->is_null() ? nullptr : &*found;
}

void ConfigReader::missing(const std::string& key) const {
  std::vector<std::string> present;
  for (const auto& [name, value] : node_->object.items()) present.push_back(name);
  const std::string_view near = nearest(key, present);
  if (near.empty()) fail("{}: the key '{}' is missing", node_->where, key);
  fail("{}: the key '{}' is missing; is '{}' misspelled?", node_->where, key, near);
}

int64_t ConfigReader::integer(const std::string& key, const Json& value, int64_t low,
                              int64_t high) const {
  int64_t number = 0;
  if (value.is_number_float()) {
    // Accepts 5.0 and 1e3 as integers. Beyond 2^53, doubles cannot represent all integers.
    const double real = value.get<double>();
    if (!(std::abs(real) <= 0x1p53) || real != std::trunc(real)) {
      wrong_type(key, value, "an integer");
    }
    number = static_cast<int64_t>(real);
  } else if (value.is_number_unsigned()) {
    const uint64_t unsigned_number = value.get<uint64_t>();
    if (unsigned_number > static_cast<uint64_t>(high)) wrong_type(key, value, "a smaller integer");
    number = static_cast<int64_t>(unsigned_number);
  } else if (value.is_number_integer()) {
    number = value.get<int64_t>();
  } else {
    wrong_type(key, value, "an integer");
  }
  if (number < low) {
    wrong_type(key, value, low == 0 ? "a non-negative integer" : "a larger integer");
  }
  if (number > high) wrong_type(key, value, "a smaller integer");
  return number;
}

void ConfigReader::wrong_type(const std::string& key, const Json& value,
                              std::string_view expected) const {
  const std::string shown = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  fail("{}: {} is {}; expected {}", node_->where, key, shorten(shown, 60), expected);
}

}  // namespace loci
