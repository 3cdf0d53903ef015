// SPDX-License-Identifier: Apache-2.0
// Sizes of pictures as users write them: WIDTHxHEIGHT.
#pragma once

#include <cstdint>
#include <string_view>

namespace loci {

struct PixelSize {
  int64_t width = 0, height = 0;

  bool operator==(const PixelSize&) const = default;
};

// Inclusive bounds of each side in pixels. Each side must be a multiple of `multiple`.
struct PixelSizeLimits {
  int64_t least = 1, most = 16384;
  int64_t multiple = 1;
};

// Parses "768x512". `where` names the option or field in errors ("--size"). A text of another form
// and a side outside `limits` are bad input with different messages.
PixelSize parse_pixel_size(std::string_view text, std::string_view where,
                           const PixelSizeLimits& limits = {});

}  // namespace loci
