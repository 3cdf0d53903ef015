// SPDX-License-Identifier: Apache-2.0
// The C++ types of fields: how a value is read and checked, how it is written, and the name of its
// type in the JSON Schema, in TypeScript and in docs/protocol.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "loci/base/config.h"
#include "loci/camera/path/keys.h"
#include "loci/camera/pose.h"
#include "loci/serve/net/limits.h"
#include "loci/serve/protocol/message.h"

namespace loci::serve {

// `bin` in MessagePack, base64 in JSON.
struct Bytes {
  std::string data;
};

// 0 to 2^64 - 1, as an integer or as text: not every client has integers of 64 bits.
struct Seed {
  uint64_t value = 0;
};

// The bound of a value: a constant, or one of the server's limits.
class Bound {
 public:
  Bound(double value) : value_([value](const Limits&) { return value; }) {}
  template <typename Number>
  Bound(Number Limits::*member)
      : value_([member](const Limits& limits) { return static_cast<double>(limits.*member); }) {}

  double value(const Limits& limits) const { return value_(limits); }

 private:
  std::function<double(const Limits&)> value_;
};

// The values that a field accepts.
struct Rules {
  std::optional<Bound> low, high;  // of a number, inclusive
  bool clamp = false;              // numbers outside of the range are moved to its end
  std::optional<Bound> most;       // bytes of a string, items of a list
  std::vector<std::string> choices;
  // Registered names, and the name of their definition in the schema ("History").
  std::function<std::vector<std::string>()> registered;
  std::string registry;

  bool has_choices() const { return !choices.empty() || registered; }
  std::vector<std::string> all_choices() const { return registered ? registered() : choices; }
};

// A type in the three notations that are generated.
struct TypeInfo {
  Json schema;
  std::string typescript;
  std::string words;
};

TypeInfo list_of(const TypeInfo& item);
TypeInfo any_of(const std::vector<TypeInfo>& types);

// A value that a client sent in the field `where`.
struct WireValue {
  const Json& json;
  const Rules& rules;
  const Limits& limits;
  const std::string& where;

  // Refuses the value ("bad_request"). The message names the expected and the received value.
  [[noreturn]] void refuse_type(const std::string& expected) const;

  bool boolean() const;
  // Numbers may be sent as text, as in HTML forms.
  double number() const;
  int64_t integer() const;
  // Without control characters.
  std::string text() const;
  uint64_t seed() const;
  std::string bytes() const;
  camera::Pose pose() const;
  camera::Keys keys() const;
  // A list within the limits.
  const Json& list() const;

 private:
  double in_range(double value, const char* kind) const;
};

Json to_json(const camera::Pose& pose);

template <typename T>
struct Table;
// Specialised for every message and for every map inside of one.
template <typename T>
const Table<T>& table_of();

// Maps; the specialisations below are for everything else. Types that clients never send need no
// read(), types that the server never sends need no write().
template <typename T>
struct Wire {
  static TypeInfo type() { return table_of<T>().type(); }
  static T read(const WireValue& value) {
    if (!value.json.is_object()) value.refuse_type("a map");
    return table_of<T>().read(value.json, value.limits, value.where);
  }
  static Json write(const T& object) { return table_of<T>().write(object); }
};

template <>
struct Wire<bool> {
  static TypeInfo type() { return {{{"type", "boolean"}}, "boolean", "boolean"}; }
  static bool read(const WireValue& value) { return value.boolean(); }
  static Json write(bool value) { return value; }
};

template <typename Integer>
struct WireInteger {
  static TypeInfo type() { return {{{"type", "integer"}}, "number", "integer"}; }
  static Integer read(const WireValue& value) { return static_cast<Integer>(value.integer()); }
  static Json write(Integer value) { return value; }
};
template <>
struct Wire<int> : WireInteger<int> {};
template <>
struct Wire<int64_t> : WireInteger<int64_t> {};
template <>
struct Wire<uint64_t> : WireInteger<uint64_t> {};

template <>
struct Wire<double> {
  static TypeInfo type() { return {{{"type", "number"}}, "number", "number"}; }
  static double read(const WireValue& value) { return value.number(); }
  static Json write(double value) { return value; }
};

template <>
struct Wire<std::string> {
  static TypeInfo type() { return {{{"type", "string"}}, "string", "string"}; }
  static std::string read(const WireValue& value) { return value.text(); }
  static Json write(const std::string& value) { return value; }
};

template <>
struct Wire<Bytes> {
  static TypeInfo type() {
    return {
        {{"type", "string"}, {"contentEncoding", "base64"}}, "Uint8Array<ArrayBuffer>", "bytes"};
  }
  static Bytes read(const WireValue& value) { return {value.bytes()}; }
  static Json write(const Bytes& value) { return binary(value.data); }
};

template <>
struct Wire<Seed> {
  static TypeInfo type() {
    return {{{"type", {"integer", "string"}}}, "number | string", "integer or string"};
  }
  static Seed read(const WireValue& value) { return {value.seed()}; }
};

// An id that a client chose, sent back as it came.
template <>
struct Wire<Json> {
  static TypeInfo type() {
    return {{{"type", {"integer", "string"}}}, "number | string", "integer or string"};
  }
  static Json read(const WireValue& value) { return value.json; }
  static Json write(const Json& value) { return value; }
};

template <>
struct Wire<camera::Pose> {
  static TypeInfo type() { return {{{"$ref", "#/$defs/Pose"}}, "WirePose", "pose"}; }
  static camera::Pose read(const WireValue& value) { return value.pose(); }
  static Json write(const camera::Pose& pose) { return to_json(pose); }
};

// The keys held in one video frame.
template <>
struct Wire<camera::Keys> {
  static TypeInfo type() { return list_of(Wire<std::string>::type()); }
  static camera::Keys read(const WireValue& value) { return value.keys(); }
};

template <typename T>
struct Wire<std::vector<T>> {
  static TypeInfo type() { return list_of(Wire<T>::type()); }
  static std::vector<T> read(const WireValue& value) {
    std::vector<T> items;
    const Rules none;
    for (const Json& item : value.list()) {
      const std::string where = value.where + "[" + std::to_string(items.size()) + "]";
      items.push_back(Wire<T>::read({item, none, value.limits, where}));
    }
    return items;
  }
  static Json write(const std::vector<T>& items) {
    Json list = Json::array();
    for (const T& item : items) list.push_back(Wire<T>::write(item));
    return list;
  }
};

template <typename T>
struct Wire<std::array<T, 2>> {
  static TypeInfo type() {
    const TypeInfo item = Wire<T>::type();
    return {{{"type", "array"}, {"items", item.schema}, {"minItems", 2}, {"maxItems", 2}},
            "[" + item.typescript + ", " + item.typescript + "]",
            "[" + item.words + ", " + item.words + "]"};
  }
  static std::array<T, 2> read(const WireValue& value) {
    if (!value.json.is_array() || value.json.size() != 2) value.refuse_type("a list of two values");
    return {Wire<T>::read({value.json[0], value.rules, value.limits, value.where}),
            Wire<T>::read({value.json[1], value.rules, value.limits, value.where})};
  }
  static Json write(const std::array<T, 2>& items) {
    return Json::array({Wire<T>::write(items[0]), Wire<T>::write(items[1])});
  }
};

}  // namespace loci::serve
