// SPDX-License-Identifier: Apache-2.0
// Fields of a client's message, with types and ranges checked; what is wrong is refused by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loci/base/config.h"

namespace loci::serve {

// Null counts as absent. Numbers may be text, as in forms.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  const Json* find(const char* name) const;
  std::optional<std::string> text(const char* name, size_t most_bytes) const;
  std::optional<int64_t> integer(const char* name, int64_t low, int64_t high) const;
  std::optional<double> number(const char* name, double low, double high) const;
  bool flag(const char* name, bool fallback) const;
  // 0 to 2^64 - 1, as a number or as text.
  std::optional<uint64_t> seed(const char* name) const;
  std::optional<std::string> choice(const char* name, const std::vector<std::string>& from) const;

 private:
  const Json& object_;
};

}  // namespace loci::serve
