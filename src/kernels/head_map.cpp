// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/head_map.h"

#include <map>
#include <vector>

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::kernels {

namespace {

// [N, …] or [B, N, …] → [B or 1, N, 1, …]: one value for all heads.
at::Tensor over_heads(const at::Tensor& table, int64_t shared_dims, at::ScalarType dtype) {
  const at::Tensor batched = table.dim() == shared_dims ? table.unsqueeze(0) : table;
  return batched.unsqueeze(2).to(dtype);
}

}  // namespace

HeadMap HeadMap::transposed() const {
  HeadMap map = *this;
  if (tiles > 0) map.matrices = matrices.transpose(-1, -2);
  if (!rotations.empty()) map.sine = -sine;
  return map;
}

HeadMap HeadMap::slice(int64_t begin, int64_t end) const {
  HeadMap map = *this;
  if (tiles > 0) map.matrices = matrices.slice(-3, begin, end);
  if (!rotations.empty()) {
    map.cosine = cosine.slice(-2, begin, end);
    map.sine = sine.slice(-2, begin, end);
  }
  return map;
}

at::Tensor head_map(const at::Tensor& x, const HeadMap& map) {
  LOCI_CHECK(x.dim() == 4, "x has {} dimensions, expected [B, N, H, D]", x.dim());
  const at::ScalarType wide = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor input = x.to(wide);

  // Pieces of the head in channel order, so that one concatenation makes the result.
  std::map<int64_t, at::Tensor> pieces;
  if (map.tiles > 0) {
    const at::Tensor matrices = over_heads(map.matrices, 3, wide);  // [B, N, 1, 4, 4]
    const int64_t size = 4 * map.tiles;
    const at::Tensor tiles = input.narrow(-1, map.tiles_begin, size).unflatten(-1, {map.tiles, 4});
    pieces[map.tiles_begin] = at::matmul(tiles, matrices.transpose(-1, -2)).flatten(-2);
  }
  int64_t column = 0;
  for (const HeadMap::Rotation& rotation : map.rotations) {
    const at::Tensor c = over_heads(map.cosine.narrow(-1, column, rotation.pairs), 2, wide);
    const at::Tensor s = over_heads(map.sine.narrow(-1, column, rotation.pairs), 2, wide);
    column += rotation.pairs;
    const at::Tensor part = input.narrow(-1, rotation.begin, 2 * rotation.pairs);
    if (rotation.adjacent) {
      const at::Tensor pairs = part.unflatten(-1, {rotation.pairs, 2});
      const at::Tensor a = pairs.select(-1, 0);
      const at::Tensor b = pairs.select(-1, 1);
      pieces[rotation.begin] = at::stack({a * c - b * s, a * s + b * c}, -1).flatten(-2);
    } else {
      const at::Tensor a = part.narrow(-1, 0, rotation.pairs);
      const at::Tensor b = part.narrow(-1, rotation.pairs, rotation.pairs);
      pieces[rotation.begin] = at::cat({a * c - b * s, a * s + b * c}, -1);
    }
  }

  std::vector<at::Tensor> whole;
  int64_t at_channel = 0;
  for (const auto& [begin, piece] : pieces) {
    LOCI_CHECK(begin >= at_channel, "parts of the map overlap at channel {}", begin);
    if (begin > at_channel) whole.push_back(input.narrow(-1, at_channel, begin - at_channel));
    whole.push_back(piece);
    at_channel = begin + piece.size(-1);
  }
  LOCI_CHECK(at_channel <= x.size(-1), "the map reaches channel {} of {}", at_channel, x.size(-1));
  if (at_channel < x.size(-1)) {
    whole.push_back(input.narrow(-1, at_channel, x.size(-1) - at_channel));
  }
  return at::cat(whole, -1).to(x.scalar_type());
}

}  // namespace loci::kernels
