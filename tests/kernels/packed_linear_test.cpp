// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/linear/packed_linear.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "loci/kernels/linear/packed_linear_loops.h"
#include "loci/kernels/linear/packed_linear_tiles.h"
#include "loci/kernels/machine/cpu_features.h"
#include "loci/kernels/machine/kernel_table.h"

#include "tests/base/expect_error.h"
#include "tests/kernels/dequantize.h"
#include "tests/kernels/emulated_machines.h"
#include "tests/kernels/matrix.h"

namespace loci::kernels {
namespace {

using ::loci::testing::largest_error;
using ::testing::HasSubstr;

constexpr WeightFormat kFormats[] = {WeightFormat::kBfloat16, WeightFormat::kInt8,
                                     WeightFormat::kInt4};

struct Case {
  int64_t frames, tokens, in, out;
};
// Sizes that are multiples of tiles, panels, blocks and groups, and sizes that are not.
constexpr Case kCases[] = {{1, 1, 1, 1},     {1, 1, 64, 32},    {3, 7, 65, 33},   {2, 77, 130, 70},
                           {5, 30, 258, 48}, {5, 24, 256, 288}, {1, 145, 301, 31}};

LinearEpilogue epilogue(const Case& c, int kind) {
  LinearEpilogue e;
  e.gelu = kind % 2 == 1;
  if (kind >= 2) e.residual = at::randn({2, c.frames * c.tokens, c.out});
  if (kind >= 4) {
    e.gate = at::randn({2, c.frames, 1, c.out});
    e.addend =
        at::randn({2, c.frames * c.tokens, c.out}).to(kind == 4 ? at::kFloat : at::kBFloat16);
  }
  return e;
}

TEST(PackedLinear, MatchesLibtorchAtEveryLevel) {
  at::manual_seed(1);
  for (const Case& c : kCases) {
    const at::Tensor original = at::randn({c.out, c.in}) / std::sqrt(static_cast<double>(c.in));
    const at::Tensor bias = at::randn({c.out});
    const at::Tensor wide = at::randn({2, c.frames * c.tokens, c.in});
    for (const WeightFormat format : kFormats) {
      const QuantizedWeight weight = quantize_weight(original, format);
      for (const IsaLevel level : testing::levels_here()) {
        const IsaOverride chosen(level);
        for (int kind = 0; kind < 6; ++kind) {
          const LinearEpilogue e = epilogue(c, kind);
          const PackedLinear linear(weight, kind == 3 ? at::Tensor() : bias);
          for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
            const at::Tensor x = wide.to(type);
            const at::Tensor got = linear(x, e);
            const at::Tensor expected =
                packed_linear_by_libtorch(dequantize(weight), format, linear.bias(), x, e);
            EXPECT_EQ(got.scalar_type(), e.residual.defined() ? at::kFloat : type);
            ASSERT_EQ(got.sizes(), expected.sizes());
            EXPECT_LT(largest_error(got, expected), got.scalar_type() == at::kFloat ? 3e-6 : 8e-3)
                << name_of(level) << ", " << name_of(format) << ", " << c.in << " to " << c.out
                << ", epilogue " << kind << ", " << c10::toString(type);
          }
        }
      }
    }
  }
}

TEST(PackedLinear, WeightReturnsTheDequantizedWeight) {
  at::manual_seed(2);
  for (const Case& c : kCases) {
    const at::Tensor original = at::randn({c.out, c.in});
    for (const WeightFormat format : kFormats) {
      const QuantizedWeight weight = quantize_weight(original, format);
      const at::Tensor numbers = dequantize(weight);
      EXPECT_TRUE(at::equal(PackedLinear(weight, {}).weight(), numbers)) << name_of(format);
      EXPECT_EQ(weight.data.sizes(), at::IntArrayRef(data_shape(format, c.out, c.in)));
      if (format == WeightFormat::kBfloat16) continue;
      EXPECT_EQ(weight.scale.sizes(), at::IntArrayRef(scale_shape(format, c.out, c.in)));
    }
  }
}

// The error is at most half a step of a channel or group. Zero weights stay zero.
TEST(PackedLinear, QuantizationRoundsToNearest) {
  at::manual_seed(3);
  at::Tensor original = at::randn({40, 200});
  original.select(0, 7).zero_();
  const QuantizedWeight eight = quantize_weight(original, WeightFormat::kInt8);
  const at::Tensor off = (dequantize(eight) - original).abs();
  EXPECT_TRUE((off <= 0.501 * eight.scale.unsqueeze(1)).all().item<bool>());
  EXPECT_EQ(dequantize(eight).select(0, 7).abs().max().item<float>(), 0);
  const QuantizedWeight four = quantize_weight(original, WeightFormat::kInt4);
  EXPECT_EQ(dequantize(four).select(0, 7).abs().max().item<float>(), 0);
  const auto relative = [&](const QuantizedWeight& w) {
    return ((dequantize(w) - original).norm() / original.norm()).item<double>();
  };
  EXPECT_LT(relative(eight), 0.01);
  EXPECT_LT(relative(four), 0.1);
  EXPECT_GT(relative(four), relative(eight));
  EXPECT_LT(four.bytes() * 6, 200 * 40 * 4);  // half a byte and a scale for 64
}

TEST(PackedLinear, NanPropagates) {
  at::manual_seed(4);
  for (const IsaLevel level : testing::levels_here()) {
    const IsaOverride chosen(level);
    for (const WeightFormat format : kFormats) {
      const PackedLinear linear(quantize_weight(at::randn({40, 70}), format), at::randn({40}));
      for (const float bad :
           {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        at::Tensor x = at::randn({20, 70});
        x[9][69] = bad;
        for (const bool gelu : {false, true}) {
          const at::Tensor y = linear(x, {.gelu = gelu});
          EXPECT_FALSE(at::isfinite(y[9]).any().item<bool>()) << name_of(format);
          EXPECT_TRUE(at::isfinite(y[8]).all().item<bool>());
          EXPECT_TRUE(at::isfinite(y[10]).all().item<bool>());
        }
      }
      const at::Tensor nothing = linear(at::zeros({3, 70}));
      EXPECT_TRUE(at::equal(nothing, linear.bias().expand({3, 40})));
    }
  }
}

TEST(PackedLinear, ResultsAreBitwiseEqualForAnyNumberOfThreads) {
  at::manual_seed(5);
  const int before = at::get_num_threads();
  for (const WeightFormat format : kFormats) {
    const PackedLinear linear(quantize_weight(at::randn({300, 200}), format), at::randn({300}));
    const at::Tensor x = at::randn({170, 200});
    at::set_num_threads(1);
    const at::Tensor one = linear(x);
    at::set_num_threads(3);
    EXPECT_TRUE(at::equal(linear(x), one)) << name_of(format);
    at::set_num_threads(before);
  }
}

TEST(PackedLinear, OtherTypesAndGradientsUseLibtorch) {
  at::manual_seed(6);
  const QuantizedWeight weight = quantize_weight(at::randn({9, 70}), WeightFormat::kInt4);
  const PackedLinear linear(weight, at::randn({9}));
  const at::Tensor x = at::randn({4, 70}, at::kDouble);
  EXPECT_EQ(linear(x).scalar_type(), at::kDouble);
  EXPECT_LT(largest_error(linear(x.to(at::kFloat)), linear(x)), 1e-6);
  const at::Tensor tracked = at::randn({4, 70}).requires_grad_(true);
  linear(tracked).sum().backward();
  EXPECT_LT(largest_error(tracked.grad(), dequantize(weight).sum(0).expand({4, 70})), 1e-5);
}

TEST(PackedLinear, RejectsInconsistentSizes) {
  const QuantizedWeight weight = quantize_weight(at::randn({9, 70}), WeightFormat::kInt8);
  const PackedLinear linear(weight, {});
  const at::Tensor x = at::randn({1, 6, 70});
  EXPECT_INTERNAL_ERROR(linear(at::randn({4, 71})), HasSubstr("of 70 inputs got 71"));
  EXPECT_INTERNAL_ERROR(linear(x, {.residual = at::randn({1, 6, 8})}), HasSubstr("residual"));
  EXPECT_INTERNAL_ERROR(linear(x, {.gate = at::randn({1, 6, 1, 9})}), HasSubstr("gate"));
  EXPECT_INTERNAL_ERROR(
      linear(x, {.residual = at::randn({1, 6, 9}), .gate = at::randn({1, 4, 1, 9})}),
      HasSubstr("gate"));
  QuantizedWeight broken = weight;
  broken.scale = broken.scale.narrow(0, 0, 8);
  EXPECT_INTERNAL_ERROR(PackedLinear(broken, {}), HasSubstr("scales"));
}

}  // namespace

namespace packed_linear_kernels {
namespace {

struct EmulatedVnni {
  static constexpr int kLanes = 16;
  static constexpr bool kUnsigned = true;
  using Ints = VectorOf<16>::Ints;
  using Number = int8_t;

  static Ints spread(const int8_t* four) {
    uint32_t bits;
    __builtin_memcpy(&bits, four, sizeof bits);
    return Ints{} + static_cast<int32_t>(bits ^ 0x80808080U);
  }
  // VPDPBUSD: unsigned bytes times signed bytes.
  static Ints dot(Ints sum, Ints a, Ints w) {
    uint8_t left[64];
    int8_t right[64];
    store(left, a);
    store(right, w);
    for (int i = 0; i < 64; ++i) sum[i / 4] += left[i] * right[i];
    return sum;
  }
};

// Runs the loops of instruction sets that the host may lack: the compiler splits vectors of 16
// lanes, and special instructions are emulated.
TEST(PackedLinear, EmulatedInstructionsMatchLibtorch) {
  at::manual_seed(7);
  const WideKernels wide = FloatLoops<16, 2, 12>::kKernels;
  const Kernels all[] = {{wide, ByteLoops<PlainWords<16>, 2, 12>::kKernels},
                         {wide, ByteLoops<EmulatedVnni, 2, 12>::kKernels},
                         {wide, TileLoops<emulated::TileMachine>::kKernels}};
  for (const auto& [rows, in, out] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1}, {13, 130, 33}, {150, 301, 64}}) {
    for (const WeightFormat format : kFormats) {
      const QuantizedWeight weight = quantize_weight(at::randn({out, in}), format);
      const at::Tensor bias = at::randn({out});
      for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
        const at::Tensor x = at::randn({rows, in}).to(type);
        for (size_t i = 0; i < std::size(all); ++i) {
          KernelTable table = kernel_table();
          table.packed_linear = all[i];
          const KernelTableOverride chosen(table);
          const LinearEpilogue epilogue = {.gelu = i == 1};
          const at::Tensor expected =
              packed_linear_by_libtorch(dequantize(weight), format, bias, x, epilogue);
          EXPECT_LT(largest_error(PackedLinear(weight, bias)(x, epilogue), expected),
                    type == at::kFloat ? 3e-6 : 8e-3)
              << name_of(format) << ", version " << i << ", " << in << " to " << out;
        }
      }
    }
  }
}

}  // namespace
}  // namespace packed_linear_kernels
}  // namespace loci::kernels
