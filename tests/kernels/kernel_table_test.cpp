// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/machine/kernel_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/kernels/machine/cpu_features.h"

#include "tests/base/expect_error.h"
#include "tests/kernels/matrix.h"

namespace loci::kernels {
namespace {

using ::testing::HasSubstr;

TEST(KernelTable, EveryLevelHasEveryKernel) {
  for (const IsaLevel level : testing::levels_here()) {
    SCOPED_TRACE(name_of(level));
    const KernelTable& table = kernel_table(level);
    EXPECT_TRUE(table.attention.fp32.attend && table.attention.bf16.attend && table.attention.pack);
    EXPECT_TRUE(table.attention_backward.fp32 && table.attention_backward.bf16);
    EXPECT_TRUE(table.delta_rule.forward && table.delta_rule.backward);
    EXPECT_TRUE(table.gelu.forward && table.gelu.forward_bf16 && table.gelu.backward &&
                table.gelu.backward_bf16);
    EXPECT_TRUE(table.head_map.run);
    EXPECT_TRUE(table.norm_silu.forward && table.norm_silu.forward_bf16 &&
                table.norm_silu.backward);
    EXPECT_TRUE(table.packed_linear.wide.widen_rows && table.packed_linear.wide.multiply);
    EXPECT_TRUE(table.packed_linear.int8.quantize_rows && table.packed_linear.int8.multiply);
    EXPECT_GE(table.packed_linear.int8.number_bytes, 1);
    EXPECT_TRUE(table.peak.fp32);
    EXPECT_TRUE(table.residual_norm.forward && table.residual_norm.forward_bf16 &&
                table.residual_norm.backward && table.residual_norm.backward_bf16);
    EXPECT_TRUE(table.rms_norm.forward && table.rms_norm.forward_bf16 && table.rms_norm.backward &&
                table.rms_norm.backward_bf16);
  }
}

TEST(KernelTable, ALevelKeepsTheKernelsThatItDoesNotReplace) {
  if (cpu_features().best_level() < IsaLevel::kAvx2) GTEST_SKIP() << "this host has one level";
  const KernelTable& plain = kernel_table(IsaLevel::kPlain);
  const KernelTable& avx2 = kernel_table(IsaLevel::kAvx2);
  EXPECT_NE(plain.head_map.run, avx2.head_map.run);
  EXPECT_NE(plain.gelu.forward, avx2.gelu.forward);
  if (cpu_features().best_level() < IsaLevel::kAvx512) return;
  const KernelTable& avx512 = kernel_table(IsaLevel::kAvx512);
  EXPECT_EQ(avx2.head_map.run, avx512.head_map.run);
  EXPECT_NE(avx2.gelu.forward, avx512.gelu.forward);
}

TEST(KernelTable, FollowsTheLevelInUse) {
  for (const IsaLevel level : testing::levels_here()) {
    const IsaOverride chosen(level);
    EXPECT_EQ(&kernel_table(), &kernel_table(level)) << name_of(level);
  }
}

TEST(KernelTable, AnOverrideLastsAsLongAsItsObject) {
  const KernelTable& original = kernel_table();
  KernelTable changed = original;
  changed.head_map.run = nullptr;
  {
    const KernelTableOverride outer(changed);
    EXPECT_EQ(kernel_table().head_map.run, nullptr);
    {
      const KernelTableOverride inner(original);
      EXPECT_EQ(kernel_table().head_map.run, original.head_map.run);
    }
    EXPECT_EQ(kernel_table().head_map.run, nullptr);
  }
  EXPECT_EQ(&kernel_table(), &original);
}

TEST(KernelTable, RefusesLevelsThatTheMachineLacks) {
  if (cpu_features().best_level() == IsaLevel::kAmx) GTEST_SKIP() << "this host has every level";
  EXPECT_INTERNAL_ERROR(kernel_table(IsaLevel::kAmx), HasSubstr("no kernels of level amx"));
}

}  // namespace
}  // namespace loci::kernels
