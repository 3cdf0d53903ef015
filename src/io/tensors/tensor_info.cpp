// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/tensor_info.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "loci/base/error.h"
#include "loci/base/text.h"

namespace loci::io {

namespace {

using Json = nlohmann::json;

constexpr size_t kMaxDimensions = 64;
constexpr size_t kMaxPrinted = 120;

constexpr std::array<std::pair<std::string_view, at::ScalarType>, 19> kDtypes = {{
    {"F64", at::kDouble},
    {"F32", at::kFloat},
    {"F16", at::kHalf},
    {"BF16", at::kBFloat16},
    {"F8_E4M3", at::kFloat8_e4m3fn},
    {"F8_E5M2", at::kFloat8_e5m2},
    {"F8_E4M3FNUZ", at::kFloat8_e4m3fnuz},
    {"F8_E5M2FNUZ", at::kFloat8_e5m2fnuz},
    {"F8_E8M0", at::kFloat8_e8m0fnu},
    {"C64", at::kComplexFloat},
    {"I64", at::kLong},
    {"I32", at::kInt},
    {"I16", at::kShort},
    {"I8", at::kChar},
    {"U64", at::kUInt64},
    {"U32", at::kUInt32},
    {"U16", at::kUInt16},
    {"U8", at::kByte},
    {"BOOL", at::kBool},
}};

}  // namespace

std::string_view TensorInfo::file_type() const {
  return packed_type.empty() ? dtype_name(dtype) : packed_type;
}

std::string_view dtype_name(at::ScalarType dtype) {
  for (const auto& [name, type] : kDtypes) {
    if (type == dtype) return name;
  }
  return "";
}

std::optional<at::ScalarType> dtype_from_name(std::string_view name) {
  for (const auto& [known, type] : kDtypes) {
    if (known == name) return type;
  }
  return std::nullopt;
}

std::optional<uint64_t> tensor_bytes(at::ScalarType dtype, std::span<const int64_t> shape) {
  if (shape.size() > kMaxDimensions) return std::nullopt;
  auto bound = static_cast<int64_t>(c10::elementSize(dtype));
  bool empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    empty = empty || extent == 0;
    if (__builtin_mul_overflow(bound, std::max<int64_t>(extent, 1), &bound)) return std::nullopt;
  }
  return empty ? 0 : static_cast<uint64_t>(bound);
}

void fail_missing_tensor(const std::string& source, std::string_view name,
                         std::span<const TensorInfo> known) {
  std::vector<std::string> names;
  for (const TensorInfo& info : known) names.push_back(info.name);
  const std::string_view near = nearest(name, names);
  fail("{}: there is no tensor '{}' among its {} tensors{}", source, printable(name), names.size(),
       near.empty() ? "" : fmt::format("; the nearest name is '{}'", printable(near)));
}

std::string printable(std::string_view text) {
  // JSON escapes: ASCII only; bytes that are not UTF-8 are replaced.
  const std::string quoted =
      Json(text.substr(0, kMaxPrinted)).dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string line = quoted.substr(1, quoted.size() - 2);
  if (text.size() > kMaxPrinted) line += "...";
  return line;
}

}  // namespace loci::io
