// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/protocol/fields.h"

#include <algorithm>
#include <cmath>

#include "loci/base/choice.h"
#include "loci/base/text.h"
#include "loci/sample/stream/stream_options.h"
#include "loci/serve/net/refusal.h"

namespace loci::serve {

const Json* Fields::find(const char* name) const {
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::string> Fields::text(const char* name, size_t most_bytes) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) refuse("bad_request", "{}: expected text", name);
  const auto& text = value->get_ref<const std::string&>();
  if (text.size() > most_bytes) {
    refuse("limit", "{}: {} bytes of text; at most {} are taken", name, text.size(), most_bytes);
  }
  return one_line(text);
}

std::optional<double> Fields::number(const char* name, double low, double high) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  std::optional<double> number;
  if (value->is_number()) number = value->get<double>();
  if (value->is_string()) number = parse_double(value->get_ref<const std::string&>());
  if (!number || !std::isfinite(*number)) refuse("bad_request", "{}: expected a number", name);
  if (*number < low || *number > high) {
    refuse("bad_request", "{}: {} is not between {} and {}", name, *number, low, high);
  }
  return number;
}

std::optional<int64_t> Fields::integer(const char* name, int64_t low, int64_t high) const {
  const std::optional<double> value =
      number(name, static_cast<double>(low), static_cast<double>(high));
  if (!value) return std::nullopt;
  if (*value != std::floor(*value)) refuse("bad_request", "{}: expected a whole number", name);
  return static_cast<int64_t>(*value);
}

bool Fields::flag(const char* name, bool fallback) const {
  const Json* value = find(name);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) refuse("bad_request", "{}: expected true or false", name);
  return value->get<bool>();
}

std::optional<uint64_t> Fields::seed(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number_unsigned()) return value->get<uint64_t>();
  if (value->is_number_integer() && value->get<int64_t>() >= 0) return value->get<uint64_t>();
  if (!value->is_string()) refuse("bad_request", "{}: expected a whole number from 0", name);
  return checked("bad_request",
                 [&] { return sample::parse_seed(value->get_ref<const std::string&>(), name); });
}

std::optional<std::string> Fields::choice(const char* name,
                                          const std::vector<std::string>& from) const {
  std::optional<std::string> value = text(name, 64);
  if (value && std::find(from.begin(), from.end(), *value) == from.end()) {
    refuse("bad_request", "{}: {}", name, unknown_choice("value", *value, from));
  }
  return value;
}

}  // namespace loci::serve
