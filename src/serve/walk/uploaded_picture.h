// SPDX-License-Identifier: Apache-2.0
// Pictures that clients upload.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <ATen/core/Tensor.h>

namespace loci::serve {

// Decodes a JPEG or PNG of at most `most_pixels` pixels and crops and resizes it to the given size,
// uint8 [H, W, 3]. The size in the header is checked before anything is decoded. Other bytes are
// refused.
at::Tensor uploaded_picture(std::string_view bytes, int64_t most_pixels, int64_t width,
                            int64_t height);

// Refuses the bytes that uploaded_picture() refuses.
void check_picture(std::string_view bytes, int64_t most_pixels);

// Width and height from the header; nothing if the bytes are neither a PNG nor a JPEG image.
std::optional<std::pair<int64_t, int64_t>> announced_size(std::string_view bytes);

}  // namespace loci::serve
