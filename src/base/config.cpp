// SPDX-License-Identifier: Apache-2.0
#include "loci/base/config.h"

#include <algorithm>

#include "loci/base/file.h"
#include "loci/base/text.h"

namespace loci {

namespace {

// nlohmann's messages start with "[json.exception.parse_error.101] parse error at line 1, column 2: …"
std::string readable(const char* what) {
  std::string_view message = what;
  const size_t bracket = message.find("] ");
  if (bracket != std::string_view::npos) message.remove_prefix(bracket + 2);
  std::string line(message.substr(0, 200));
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

// Deeply nested brackets would overflow the stack of a recursive consumer.
constexpr int kMaxDepth = 200;

}  // namespace

Json parse_json(std::string_view text, const std::string& source) {
  try {
    return Json::parse(
        text,
        [](int depth, Json::parse_event_t, Json&) {
          if (depth > kMaxDepth) fail("more than {} levels of nesting", kMaxDepth);
          return true;
        },
        /*allow_exceptions=*/true, /*ignore_comments=*/true);
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
    fail("--set {}: expected KEY=VALUE, e.g. --set optimizer.rate=1e-4", assignment);
  }
  const std::string_view value = assignment.substr(equals + 1);
  Json* node = &root;
  for (const std::string_view key : split(assignment.substr(0, equals), '.')) {
    if (key.empty()) fail("--set {}: there is an empty name in the key", assignment);
    if (node->is_null()) *node = Json::object();
    if (!node->is_object()) {
      fail("--set {}: what stands before '{}' is a {}, not a section", assignment, key,
           node->type_name());
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
    fail("{}: {} is '{}'; choose one of: {}", node_->where, key, value, fmt::join(choices, ", "));
  }
  return value;
}

ConfigReader ConfigReader::section(const std::string& key) const {
  const Json* value = find(key);
  auto child = std::make_shared<Node>();
  child->object = value == nullptr ? Json::object() : *value;
  child->where = fmt::format("{}: {}", node_->where, key);
  if (!child->object.is_object()) wrong_type(key, *value, "a section { … }");
  node_->sections.push_back(child);
  return ConfigReader(child);
}

std::vector<ConfigReader> ConfigReader::sections(const std::string& key) const {
  std::vector<ConfigReader> list;
  const Json* value = find(key);
  if (value == nullptr) return list;
  if (!value->is_array()) wrong_type(key, *value, "a list of sections");
  for (size_t i = 0; i < value->size(); ++i) {
    auto child = std::make_shared<Node>();
    child->object = (*value)[i];
    child->where = fmt::format("{}: {}[{}]", node_->where, key, i);
    if (!child->object.is_object()) wrong_type(key, *value, "a list of sections");
    node_->sections.push_back(child);
    list.push_back(ConfigReader(child));
  }
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
  for (const auto& section : node.sections) finish(*section);
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
  fail("{}: the key '{}' is missing; is '{}' a slip?", node_->where, key, near);
}

void ConfigReader::wrong_type(const std::string& key, const Json& value,
                              std::string_view expected) const {
  std::string shown = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (shown.size() > 60) shown = shown.substr(0, 57) + "...";
  fail("{}: {} is {}; expected {}", node_->where, key, shown, expected);
}

}  // namespace loci
