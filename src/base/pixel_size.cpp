// SPDX-License-Identifier: Apache-2.0
#include "loci/base/pixel_size.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "loci/base/error.h"
#include "loci/base/text.h"

namespace loci {

namespace {

// A number that int64_t cannot hold becomes the largest one, so that it is out of range.
std::optional<int64_t> parse_side(std::string_view text) {
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(),
                                                   [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) return std::nullopt;
  return parse_int(text).value_or(std::numeric_limits<int64_t>::max());
}

}  // namespace

PixelSize parse_pixel_size(std::string_view text, std::string_view where,
                           const PixelSizeLimits& limits) {
  const std::vector<std::string_view> sides = split(text, 'x');
  const std::optional<int64_t> width = parse_side(sides.front()), height = parse_side(sides.back());
  if (sides.size() != 2 || !width || !height) {
    fail("{}: '{}' is not a size; expected WIDTHxHEIGHT in pixels, such as 768x512", where, text);
  }
  for (const int64_t side : {*width, *height}) {
    if (side < limits.least || side > limits.most) {
      fail("{}: {} is out of range; each side must be {} to {} pixels", where, text, limits.least,
           limits.most);
    }
    if (side % limits.multiple != 0) {
      fail("{}: {} does not fit the model; both sides must be multiples of {} pixels", where, text,
           limits.multiple);
    }
  }
  return {*width, *height};
}

}  // namespace loci
