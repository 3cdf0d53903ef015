// SPDX-License-Identifier: Apache-2.0
// Images from clients.
#include "loci/io/media/image.h"

#include "fuzz/target.h"

namespace loci::fuzz {

LOCI_FUZZ_TARGET(picture) {
  // Larger sizes are valid but slow.
  constexpr size_t kMost = 1 << 16;
  if (bytes.size() > kMost) return;
  io::decode_image(std::as_bytes(std::span(bytes.data(), bytes.size())), "the picture");
}

}  // namespace loci::fuzz
