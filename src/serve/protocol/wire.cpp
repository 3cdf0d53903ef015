// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/protocol/wire.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "loci/base/choice.h"
#include "loci/base/text.h"
#include "loci/sample/stream/stream_options.h"
#include "loci/serve/net/refusal.h"

namespace loci::serve {

namespace {

constexpr size_t kDefaultBytes = 64;  // of a string without a limit of its own
constexpr size_t kQuoted = 40;        // characters of a rejected string in an error
constexpr size_t kMostKeys = 16;
constexpr double kFarthest = 1e4;  // metres

// A rejected value as error messages quote it.
std::string quote(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "a map";
    case Json::value_t::array:
      return fmt::format("a list of {}", value.size());
    case Json::value_t::binary:
      return "bytes";
    case Json::value_t::string:
      return fmt::format("'{}'", shorten(one_line(value.get_ref<const std::string&>()), kQuoted));
    default:
      return value.dump();
  }
}

}  // namespace

TypeInfo list_of(const TypeInfo& item) {
  const bool simple = item.typescript.find(' ') == std::string::npos;
  std::string plural = item.words;
  if (plural.starts_with("list ")) {
    plural.insert(4, "s");
  } else if (!plural.ends_with('s') && !plural.ends_with('`')) {
    plural += 's';
  }
  return {{{"type", "array"}, {"items", item.schema}},
          simple ? item.typescript + "[]" : "(" + item.typescript + ")[]",
          "list of " + plural};
}

TypeInfo any_of(const std::vector<TypeInfo>& types) {
  TypeInfo all{{{"anyOf", Json::array()}}, "", ""};
  for (const TypeInfo& type : types) {
    all.schema["anyOf"].push_back(type.schema);
    if (!all.words.empty()) {
      all.typescript += " | ";
      all.words += " or ";
    }
    all.typescript += type.typescript;
    all.words += type.words;
  }
  return all;
}

void WireValue::refuse_type(const std::string& expected) const {
  refuse("bad_request", "{}: expected {}, got {}", where, expected, quote(json));
}

bool WireValue::boolean() const {
  if (!json.is_boolean()) refuse_type("true or false");
  return json.get<bool>();
}

double WireValue::in_range(double value, const char* kind) const {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const double low = rules.low ? rules.low->value(limits) : -kNone;
  const double high = rules.high ? rules.high->value(limits) : kNone;
  if (std::isfinite(value) && rules.clamp) return std::clamp(value, low, high);
  if (std::isfinite(value) && value >= low && value <= high) return value;
  if (high != kNone) refuse_type(fmt::format("{} from {} to {}", kind, low, high));
  if (low != -kNone) refuse_type(fmt::format("{} of at least {}", kind, low));
  refuse_type(kind);
}

double WireValue::number() const {
  double value = NAN;
  if (json.is_number()) value = json.get<double>();
  if (json.is_string()) value = parse_double(json.get_ref<const std::string&>()).value_or(NAN);
  return in_range(value, "a number");
}

int64_t WireValue::integer() const {
  constexpr double kBeyond = 9223372036854775808.0;  // 2^63
  const bool unsigned_too_large =
      json.is_number_unsigned() &&
      json.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (json.is_number_integer() && !unsigned_too_large) {
    const auto value = json.get<int64_t>();
    in_range(static_cast<double>(value), "an integer");
    return value;
  }
  double value = NAN;
  if (json.is_number()) value = json.get<double>();
  if (json.is_string()) value = parse_double(json.get_ref<const std::string&>()).value_or(NAN);
  if (value != std::floor(value) || std::abs(value) >= kBeyond) value = NAN;
  return static_cast<int64_t>(in_range(value, "an integer"));
}

std::string WireValue::text() const {
  if (rules.has_choices()) {
    const std::vector<std::string> choices = rules.all_choices();
    if (!json.is_string()) refuse_type(fmt::format("one of: {}", fmt::join(choices, ", ")));
    const auto& name = json.get_ref<const std::string&>();
    if (std::find(choices.begin(), choices.end(), name) == choices.end()) {
      refuse("bad_request", "{}: {}", where,
             unknown_choice("value", shorten(one_line(name), kQuoted), choices));
    }
    return name;
  }
  if (!json.is_string()) refuse_type("a string");
  const auto& text = json.get_ref<const std::string&>();
  const double most = rules.most ? rules.most->value(limits) : static_cast<double>(kDefaultBytes);
  if (static_cast<double>(text.size()) > most) {
    refuse("limit", "{}: expected a string of at most {} bytes, got {} bytes", where, most,
           text.size());
  }
  return one_line(text);
}

uint64_t WireValue::seed() const {
  if (json.is_number_unsigned()) return json.get<uint64_t>();
  if (json.is_number_integer() && json.get<int64_t>() >= 0) return json.get<uint64_t>();
  if (!json.is_string()) refuse_type("an integer from 0 to 2^64 - 1");
  return checked("bad_request",
                 [&] { return sample::parse_seed(json.get_ref<const std::string&>(), where); });
}

std::string WireValue::bytes() const { return bytes_of(json, where); }

camera::Pose WireValue::pose() const {
  const auto wrong = [&] {
    refuse_type(fmt::format("7 numbers x, y, z, qw, qx, qy, qz, each from {} to {}", -kFarthest,
                            kFarthest));
  };
  if (!json.is_array() || json.size() != 7) wrong();
  std::array<double, 7> v{};
  for (size_t i = 0; i < v.size(); ++i) {
    v[i] = json[i].is_number() ? json[i].get<double>() : NAN;
    if (!(std::abs(v[i]) <= kFarthest)) wrong();
  }
  if (std::hypot(std::hypot(v[3], v[4]), std::hypot(v[5], v[6])) < 0.5) {
    refuse("bad_request", "{}: expected a unit quaternion in the last four numbers", where);
  }
  return {camera::to_matrix({v[3], v[4], v[5], v[6]}), {v[0], v[1], v[2]}};
}

camera::Keys WireValue::keys() const {
  if (!json.is_array() || json.size() > kMostKeys) {
    refuse_type(fmt::format("a list of at most {} keys", kMostKeys));
  }
  std::string names;
  for (const Json& key : json) {
    if (!key.is_string()) refuse_type("a list of key names");
    if (!names.empty()) names += '+';
    names += key.get_ref<const std::string&>();
  }
  if (names.empty()) return {};
  return checked("bad_request", [&] { return camera::parse_keys(names, where); });
}

const Json& WireValue::list() const {
  if (!json.is_array()) refuse_type("a list");
  if (rules.most && static_cast<double>(json.size()) > rules.most->value(limits)) {
    refuse_type(fmt::format("a list of at most {}", rules.most->value(limits)));
  }
  if (rules.low && static_cast<double>(json.size()) < rules.low->value(limits)) {
    refuse_type(fmt::format("a list of at least {}", rules.low->value(limits)));
  }
  return json;
}

Json to_json(const camera::Pose& pose) {
  const camera::Quaternion q = camera::to_quaternion(pose.rotation);
  return Json::array({pose.position.x, pose.position.y, pose.position.z, q.w, q.x, q.y, q.z});
}

}  // namespace loci::serve
