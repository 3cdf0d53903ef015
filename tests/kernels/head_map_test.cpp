// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/head_map.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/kernels/machine/cpu_features.h"

#include "tests/base/expect_error.h"
#include "tests/kernels/gradient_check.h"
#include "tests/kernels/matrix.h"

namespace loci::kernels {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kTokens = 5;
constexpr int64_t kChannels = 20;

// Channels 2-9 are two matrix tiles, 10-13 rotate as halves, 16-19 rotate as adjacent pairs, the
// others are unchanged.
HeadMap example(int64_t batch) {
  HeadMap map;
  map.tiles_begin = 2;
  map.tiles = 2;
  map.rotations = {{10, 2, /*adjacent=*/false}, {16, 2, /*adjacent=*/true}};
  std::vector<int64_t> leading =
      batch > 0 ? std::vector<int64_t>{batch, kTokens} : std::vector<int64_t>{kTokens};
  std::vector<int64_t> matrices = leading, angles = leading;
  matrices.insert(matrices.end(), {4, 4});
  angles.push_back(4);
  map.matrices = at::randn(matrices);
  const at::Tensor angle = at::randn(angles);
  map.cosine = angle.cos();
  map.sine = angle.sin();
  return map;
}

// The same map as one matrix [N, D, D].
at::Tensor as_matrix(const HeadMap& map) {
  at::Tensor whole = at::eye(kChannels).repeat({kTokens, 1, 1});
  for (int64_t token = 0; token < kTokens; ++token) {
    for (int64_t tile = 0; tile < map.tiles; ++tile) {
      const int64_t at_channel = map.tiles_begin + 4 * tile;
      whole[token].narrow(0, at_channel, 4).narrow(1, at_channel, 4).copy_(map.matrices[token]);
    }
    int64_t column = 0;
    for (const HeadMap::Rotation& rotation : map.rotations) {
      for (int64_t i = 0; i < rotation.pairs; ++i, ++column) {
        const int64_t a = rotation.adjacent ? rotation.begin + 2 * i : rotation.begin + i;
        const int64_t b = rotation.adjacent ? a + 1 : a + rotation.pairs;
        whole[token][a][a] = map.cosine[token][column];
        whole[token][a][b] = -map.sine[token][column];
        whole[token][b][a] = map.sine[token][column];
        whole[token][b][b] = map.cosine[token][column];
      }
    }
  }
  return whole;
}

at::Tensor apply(const at::Tensor& matrices, const at::Tensor& x) {  // x [B, N, H, D]
  return at::einsum("ncd,bnhd->bnhc", {matrices, x});
}

TEST(HeadMap, MatchesItsMatrix) {
  at::manual_seed(1);
  const HeadMap map = example(0);
  const at::Tensor x = at::randn({2, kTokens, 3, kChannels});
  const at::Tensor matrices = as_matrix(map);
  EXPECT_TRUE(at::allclose(head_map(x, map), apply(matrices, x), 1e-5, 1e-5));
  EXPECT_TRUE(
      at::allclose(head_map(x, map.transposed()), apply(matrices.transpose(1, 2), x), 1e-5, 1e-5));
  EXPECT_TRUE(
      at::equal(head_map(x.narrow(1, 1, 3), map.slice(1, 4)), head_map(x, map).narrow(1, 1, 3)));
  EXPECT_TRUE(at::equal(head_map(x, HeadMap()), x));
}

// Sizes that are multiples of vectors and sizes that are not, forward and backward.
TEST(HeadMap, TheKernelMatchesLibtorch) {
  at::manual_seed(5);
  for (const IsaLevel level : kIsaLevels) {
    if (level > cpu_features().best_level()) continue;
    const IsaOverride chosen(level);
    for (const int64_t tiles : {0, 1, 3, 16}) {
      for (const int64_t pairs : {0, 3, 21, 32}) {
        for (const bool adjacent : {true, false}) {
          constexpr int64_t kWidth = 128, kRows = 130;
          HeadMap map;
          map.tiles = tiles;
          if (tiles > 0) map.matrices = at::randn({kRows, 4, 4});
          if (pairs > 0) {
            map.rotations = {{.begin = 64, .pairs = pairs, .adjacent = adjacent}};
            map.cosine = at::randn({kRows, pairs});
            map.sine = at::randn({kRows, pairs});
          }
          const at::Tensor x = at::randn({2, kRows, 3, kWidth}).requires_grad_(true);
          const at::Tensor weights = at::randn(x.sizes());
          const at::Tensor y = head_map(x, map), expected = head_map_by_libtorch(x, map);
          EXPECT_TRUE(at::allclose(y, expected, 1e-5, 1e-5)) << tiles << " tiles, " << pairs;
          (y * weights).sum().backward();
          const at::Tensor gradient = x.grad().clone();
          x.mutable_grad() = at::Tensor();
          (expected * weights).sum().backward();
          if (tiles + pairs > 0) {
            EXPECT_TRUE(at::allclose(gradient, x.grad(), 1e-5, 1e-5)) << tiles << ", " << pairs;
          }
        }
      }
    }
  }
}

// Rotations of all channels and tiles of all channels in both orders, with and without interleaved
// tiles and several matrices per token.
TEST(HeadMap, OrderedPartsMayOverlap) {
  at::manual_seed(6);
  constexpr int64_t kWidth = 128, kRows = 7;
  for (const MapOrder order : {MapOrder::kRotationsFirst, MapOrder::kTilesFirst}) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t many : {1, 4}) {
        HeadMap map;
        map.order = order;
        map.tiles = kWidth / 4;
        map.tile_stride = stride;
        map.tile_matrices = many;
        map.matrices = at::randn({kRows, 4 * many, 4});
        map.rotations = {{.begin = 0, .pairs = kWidth / 2, .adjacent = true}};
        const at::Tensor angle = at::randn({kRows, kWidth / 2});
        map.cosine = angle.cos();
        map.sine = angle.sin();
        const at::Tensor x = at::randn({2, kRows, 3, kWidth}).requires_grad_(true);
        // Written out: channel (group * 4 + component) * stride + r.
        const auto tiled = [&](const at::Tensor& from) {
          at::Tensor to = at::empty_like(from);
          for (int64_t c = 0; c < kWidth; ++c) {
            const int64_t r = c % stride, component = c / stride % 4, group = c / stride / 4;
            const int64_t first = 4 * (group % many);
            at::Tensor sum = at::zeros({2, kRows, 3});
            for (int64_t j = 0; j < 4; ++j) {
              sum = sum + map.matrices.select(1, first + component).select(1, j).view({1, -1, 1}) *
                              from.select(-1, (group * 4 + j) * stride + r);
            }
            to.select(-1, c).copy_(sum);
          }
          return to;
        };
        const auto rotated = [&](const at::Tensor& from) {
          HeadMap only = map;
          only.order = MapOrder::kDisjoint;
          only.tiles = 0;
          return head_map(from, only);
        };
        const at::Tensor plain = x.detach();
        const at::Tensor expected =
            order == MapOrder::kRotationsFirst ? tiled(rotated(plain)) : rotated(tiled(plain));
        const at::Tensor y = head_map(x, map);
        EXPECT_TRUE(at::allclose(y, expected, 1e-4, 1e-4)) << stride << ", " << many;
        EXPECT_TRUE(at::allclose(head_map_by_libtorch(plain, map), expected, 1e-4, 1e-4));
        // <M x, w> = <x, Mᵀ w>
        const at::Tensor w = at::randn(y.sizes());
        (y * w).sum().backward();
        EXPECT_TRUE(at::allclose(x.grad(), head_map_by_libtorch(w, map.transposed()), 1e-4, 1e-4));
      }
    }
  }
}

TEST(HeadMap, SamplesMayHaveDifferentMaps) {
  at::manual_seed(2);
  const HeadMap both = example(2);
  const at::Tensor x = at::randn({2, kTokens, 3, kChannels});
  const at::Tensor out = head_map(x, both);
  for (int64_t b = 0; b < 2; ++b) {
    HeadMap one = both;
    one.matrices = both.matrices[b];
    one.cosine = both.cosine[b];
    one.sine = both.sine[b];
    EXPECT_TRUE(at::equal(out[b], head_map(x.narrow(0, b, 1), one)[0]));
  }
}

// Every head has its own angles: forward and backward at every level, for one and two samples.
TEST(HeadMap, HeadsMayHaveDifferentRotations) {
  at::manual_seed(8);
  constexpr int64_t kHeads = 3;
  for (const IsaLevel level : kIsaLevels) {
    if (level > cpu_features().best_level()) continue;
    const IsaOverride chosen(level);
    for (const int64_t batch : {0, 2}) {
      HeadMap map = example(batch);
      const at::Tensor angle =
          batch > 0 ? at::randn({batch, kTokens, kHeads, 4}) : at::randn({kTokens, kHeads, 4});
      map.cosine = angle.cos();
      map.sine = angle.sin();
      map.per_head = true;
      const at::Tensor x = at::randn({2, kTokens, kHeads, kChannels}).requires_grad_(true);
      const at::Tensor y = head_map(x, map);
      EXPECT_TRUE(at::allclose(y, head_map_by_libtorch(x, map), 1e-5, 1e-5));
      for (int64_t head = 0; head < kHeads; ++head) {
        HeadMap one = map;
        one.per_head = false;
        one.cosine = map.cosine.select(-2, head);
        one.sine = map.sine.select(-2, head);
        const at::Tensor own = head_map(x.narrow(2, head, 1), one).select(2, 0);
        EXPECT_TRUE(at::equal(y.select(2, head), own));
      }
      EXPECT_TRUE(at::equal(head_map(x.narrow(1, 1, 3), map.slice(1, 4)), y.narrow(1, 1, 3)));
      const at::Tensor weights = at::randn(x.sizes());
      (unit_head_map(x, map) * weights).sum().backward();
      const at::Tensor gradient = x.grad().clone();
      x.mutable_grad() = at::Tensor();
      (unit_by_libtorch(head_map_by_libtorch(x, map)) * weights).sum().backward();
      EXPECT_TRUE(at::allclose(gradient, x.grad(), 1e-5, 1e-5));
      EXPECT_INTERNAL_ERROR(head_map(x.narrow(2, 0, 2), map), HasSubstr("rotations for 3 heads"));
    }
  }
}

TEST(HeadMap, ComputesInFp32AndReturnsTheInputType) {
  at::manual_seed(3);
  const HeadMap map = example(0);
  const at::Tensor x = at::randn({1, kTokens, 2, kChannels}).to(at::kBFloat16);
  const at::Tensor out = head_map(x, map);
  EXPECT_EQ(out.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(out, head_map(x.to(at::kFloat), map).to(at::kBFloat16)));
  EXPECT_EQ(head_map(x.to(at::kDouble), map).scalar_type(), at::kDouble);
}

TEST(HeadMap, GradientMatchesCentralDifferences) {
  at::manual_seed(4);
  const HeadMap map = example(0);
  const at::Tensor x = testing::leaf(at::randn({2, kTokens, 2, kChannels}));
  EXPECT_LT(
      testing::gradient_error([&] { return testing::weighted_sum(head_map(x, map)); }, {x}, 4),
      1e-7);
}

// Also covers input with heads before tokens in memory, as a matrix product per head returns it.
TEST(HeadMap, UnitsMatchFp64AtEveryLevel) {
  at::manual_seed(6);
  const HeadMap map = example(0);
  const auto run = [&](const testing::TensorList& t) -> testing::TensorList {
    return {unit_head_map(t[0].transpose(1, 2), map)};
  };
  const auto reference = [&](const testing::TensorList& t) -> testing::TensorList {
    return {unit_by_libtorch(head_map_by_libtorch(t[0].transpose(1, 2), map))};
  };
  const at::Tensor x = at::randn({2, 3, kTokens, kChannels});  // [B, H, N, D]
  testing::expect_equal(run, reference, {x}, {at::kFloat}, 1e-5, "FP32");
  testing::expect_equal(run, reference, {x}, {at::kBFloat16}, 1e-2, "BF16");
}

TEST(HeadMap, GatedSumsMatchFp64AtEveryLevel) {
  at::manual_seed(7);
  const HeadMap map = example(0);
  const auto run = [&](const testing::TensorList& t) -> testing::TensorList {
    return {add_gated_head_map(t[0], t[1], t[2], map)};
  };
  const auto reference = [&](const testing::TensorList& t) -> testing::TensorList {
    return {add_gated_head_map_by_libtorch(t[0], t[1], t[2], map)};
  };
  const testing::TensorList inputs = {at::randn({2, kTokens, 3, kChannels}),
                                      at::rand({2, kTokens, 3}),
                                      at::randn({2, kTokens, 3, kChannels})};
  testing::expect_equal(run, reference, inputs, {at::kFloat, at::kFloat, at::kFloat}, 1e-5, "FP32");
  testing::expect_equal(run, reference, inputs, {at::kBFloat16, at::kFloat, at::kFloat}, 1e-2,
                        "a BF16 addend");
  EXPECT_EQ(
      add_gated_head_map(inputs[0].to(at::kBFloat16), inputs[1], inputs[2], map).scalar_type(),
      at::kBFloat16);
  EXPECT_INTERNAL_ERROR(add_gated_head_map(inputs[0], inputs[1].narrow(1, 0, 2), inputs[2], map),
                        HasSubstr("a gate [B, N, H]"));
}

TEST(HeadMap, RejectsOverlappingParts) {
  HeadMap map = example(0);
  const at::Tensor x = at::randn({1, kTokens, 1, kChannels});
  map.rotations[0].begin = 8;  // inside the second tile
  EXPECT_INTERNAL_ERROR(head_map(x, map), HasSubstr("overlap"));
  EXPECT_INTERNAL_ERROR(head_map(x[0], map), HasSubstr("[B, N, H, D]"));
}

}  // namespace
}  // namespace loci::kernels
