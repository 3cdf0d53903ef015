// SPDX-License-Identifier: Apache-2.0
#include "loci/model/autoencoder/vae_tiles.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::model {

namespace {

// Weights of `right` within its overlap with `left`, [overlap * scale], from 0 to 1.
at::Tensor rise(const TileSpan& left, const TileSpan& right, int64_t scale, int64_t reach) {
  const auto shared = static_cast<double>((left.end() - right.begin) * scale);
  const double unused = std::min(static_cast<double>(reach), shared * 3 / 8);
  const at::Tensor middle = at::arange(static_cast<int64_t>(shared), at::kFloat) + 0.5;
  return ((middle - unused) / (shared - 2 * unused)).clamp(0, 1);
}

// Weights before normalisation; their sum exceeds 1 where three tiles meet.
at::Tensor raw_shares(const std::vector<TileSpan>& spans, size_t index, int64_t scale,
                      int64_t reach) {
  const TileSpan& span = spans[index];
  at::Tensor shares = at::ones({span.size * scale}, at::kFloat);
  if (index > 0) {
    const at::Tensor start = rise(spans[index - 1], span, scale, reach);
    shares.narrow(0, 0, start.size(0)).mul_(start);
  }
  if (index + 1 < spans.size()) {
    const at::Tensor end = 1 - rise(span, spans[index + 1], scale, reach);
    shares.narrow(0, shares.size(0) - end.size(0), end.size(0)).mul_(end);
  }
  return shares;
}

}  // namespace

void VaeTiling::check(const VaeConfig& config) const {
  if (tile == 0) return;
  const int64_t side = config.spatial_factor();
  if (tile < 2 * side || tile % side != 0) {
    fail("a tile of {} pixels does not divide into latents; use a multiple of {}, at least {}",
         tile, side, 2 * side);
  }
  if (overlap < side || overlap % side != 0 || 2 * overlap > tile) {
    fail("tiles of {} pixels cannot overlap by {} pixels; use a multiple of {}, at most {}", tile,
         overlap, side, tile / 2 / side * side);
  }
}

std::vector<TileSpan> tile_axis(int64_t length, int64_t tile, int64_t overlap) {
  if (tile == 0 || length <= tile) return {{0, length}};
  const int64_t step = tile - overlap;
  const int64_t count = (length - overlap + step - 1) / step;
  std::vector<TileSpan> spans;
  for (int64_t i = 0; i < count; ++i) spans.push_back({i * (length - tile) / (count - 1), tile});
  return spans;
}

at::Tensor tile_shares(const std::vector<TileSpan>& spans, size_t index, int64_t scale,
                       int64_t reach) {
  const TileSpan& span = spans[index];
  at::Tensor shares = raw_shares(spans, index, scale, reach);
  at::Tensor sum = at::zeros_like(shares);
  for (size_t i = 0; i < spans.size(); ++i) {
    const int64_t begin = std::max(span.begin, spans[i].begin);
    const int64_t size = std::min(span.end(), spans[i].end()) - begin;
    if (size <= 0) continue;
    sum.narrow(0, (begin - span.begin) * scale, size * scale)
        .add_(raw_shares(spans, i, scale, reach)
                  .narrow(0, (begin - spans[i].begin) * scale, size * scale));
  }
  return shares / sum;
}

TilePlan::TilePlan(const VaeTiling& tiling, int64_t height, int64_t width, int64_t in, int64_t out,
                   int64_t latent, int64_t reach)
    : rows(tile_axis(height / in, tiling.tile / latent, tiling.overlap / latent)),
      columns(tile_axis(width / in, tiling.tile / latent, tiling.overlap / latent)),
      in(in),
      out(out),
      reach(reach) {}

at::Tensor TilePlan::operator()(
    const at::Tensor& x,
    const std::function<at::Tensor(const at::Tensor& tile, const std::string& name)>& run) const {
  at::Tensor joined;
  for (size_t row = 0; row < rows.size(); ++row) {
    const at::Tensor down = tile_shares(rows, row, out, reach).view({-1, 1, 1});
    for (size_t column = 0; column < columns.size(); ++column) {
      const TileSpan& y = rows[row];
      const TileSpan& z = columns[column];
      at::Tensor tile = run(
          x.narrow(2, y.begin * in, y.size * in).narrow(3, z.begin * in, z.size * in).contiguous(),
          fmt::format("tile {}.{}/", row, column));
      const at::Tensor share = down * tile_shares(columns, column, out, reach).view({-1, 1});
      if (!joined.defined()) {
        joined = at::zeros({tile.size(0), tile.size(1), rows.back().end() * out,
                            columns.back().end() * out, tile.size(4)},
                           tile.options());
      }
      joined.narrow(2, y.begin * out, y.size * out)
          .narrow(3, z.begin * out, z.size * out)
          .add_(tile * share.to(tile.options()));
    }
  }
  return joined;
}

}  // namespace loci::model
