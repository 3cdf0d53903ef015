// SPDX-License-Identifier: Apache-2.0
// Configuration files: JSON with // and /* */ comments and "a.b=value" overrides, with checks of
// types and ranges. A key that is not read is an error that suggests the nearest known key.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "loci/base/error.h"

namespace loci {

using Json = nlohmann::json;

// Parses JSON with comments. A duplicate key in an object is bad input. `source` names the text in
// messages, e.g. "file.json".
Json parse_json(std::string_view text, const std::string& source);
Json load_json(const std::filesystem::path& path);

// Applies "a.b=value" to `root`. The value is JSON if it parses as JSON, otherwise a string.
// Missing objects along the path are created; a path through any other value is bad input.
void apply_setting(Json& root, std::string_view assignment);

// Reads one JSON object and records which keys were read. Copies share this record.
//
//   ConfigReader reader(json, "train.json");
//   const int steps = reader.get<int>("steps", 50, 1, 1000);
//   ConfigReader optimizer = reader.section("optimizer");
//   …
//   reader.finish();   // also checks all sections that were read
class ConfigReader {
 public:
  // `where` is the file, with the path inside it for sections ("train.json: optimizer").
  ConfigReader(const Json& object, std::string where);

  const std::string& where() const { return node_->where; }
  const Json& json() const { return node_->object; }
  // Whether the key is present; null counts as absent.
  bool has(const std::string& key) const {
    const auto found = node_->object.find(key);
    return found != node_->object.end() && !found->is_null();
  }

  // The value of a required key.
  template <typename T>
  T get(const std::string& key) const {
    const Json* value = find(key);
    if (value == nullptr) missing(key);
    return convert<T>(key, *value);
  }

  // The value of an optional key; null counts as absent.
  template <typename T>
  T get(const std::string& key, T fallback) const {
    const Json* value = find(key);
    return value == nullptr ? fallback : convert<T>(key, *value);
  }

  // The same with inclusive bounds for the value.
  template <typename T>
  T get(const std::string& key, T fallback, T low, T high) const {
    const T value = get<T>(key, fallback);
    if (!(value >= low && value <= high)) {
      fail("{}: {} is {}; it must be between {} and {}", node_->where, key, value, low, high);
    }
    return value;
  }

  // One of `choices`. Any other value is bad input; the error lists the choices.
  std::string choose(const std::string& key, const std::string& fallback,
                     const std::vector<std::string>& choices) const;

  // A nested object; empty if absent.
  ConfigReader section(const std::string& key) const;

  // A list of objects; empty if absent.
  std::vector<ConfigReader> sections(const std::string& key) const;

  // Accepts keys that other programs write and that this program does not use.
  void ignore(const std::vector<std::string>& keys) const;

  // Reports keys that were not read as bad input, here and in all sections that were read.
  void finish() const;

 private:
  struct Node {
    Json object;
    std::string where;
    std::set<std::string> known;
    // Sections that were read. Reading one again continues with the same record.
    std::map<std::string, std::vector<std::shared_ptr<Node>>> sections;
  };
  explicit ConfigReader(std::shared_ptr<Node> node) : node_(std::move(node)) {}

  const Json* find(const std::string& key) const;
  [[noreturn]] void missing(const std::string& key) const;
  [[noreturn]] void wrong_type(const std::string& key, const Json& value,
                               std::string_view expected) const;
  int64_t integer(const std::string& key, const Json& value, int64_t low, int64_t high) const;
  static void finish(const Node& node);

  template <typename T>
  T convert(const std::string& key, const Json& value) const;

  std::shared_ptr<Node> node_;
};

template <typename T>
T ConfigReader::convert(const std::string& key, const Json& value) const {
  if constexpr (std::is_same_v<T, bool>) {
    if (!value.is_boolean()) wrong_type(key, value, "true or false");
    return value.get<bool>();
  } else if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    constexpr auto kHigh = std::min<uint64_t>(Limits::max(), std::numeric_limits<int64_t>::max());
    return static_cast<T>(integer(key, value, static_cast<int64_t>(Limits::min()), int64_t{kHigh}));
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!value.is_number()) wrong_type(key, value, "a number");
    const double number = value.get<double>();
    if (std::abs(number) > static_cast<double>(std::numeric_limits<T>::max())) {
      wrong_type(key, value, "a smaller number");
    }
    return static_cast<T>(number);
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!value.is_string()) wrong_type(key, value, "a string");
    return value.get<std::string>();
  } else {
    // std::vector of one of the above
    if (!value.is_array()) wrong_type(key, value, "a list");
    T list;
    for (const Json& element : value) {
      list.push_back(convert<typename T::value_type>(key, element));
    }
    return list;
  }
}

}  // namespace loci
