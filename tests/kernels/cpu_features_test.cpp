// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/machine/cpu_features.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/expect_error.h"

namespace loci::kernels {
namespace {

using ::testing::HasSubstr;

CpuFeatures sapphire_rapids() {
  CpuFeatures f;
  f.avx2 = f.fma = f.f16c = f.avx512 = f.avx512_vnni = f.avx512_bf16 = true;
  f.amx_bf16 = f.amx_int8 = true;
  f.amx = AmxState::kGranted;
  return f;
}

TEST(CpuFeatures, ALevelNeedsAllItsInstructions) {
  CpuFeatures f = sapphire_rapids();
  EXPECT_EQ(f.best_level(), IsaLevel::kAmx);
  f.amx = AmxState::kRefused;
  EXPECT_EQ(f.best_level(), IsaLevel::kAvx512Bf16);
  f.avx512_bf16 = false;
  EXPECT_EQ(f.best_level(), IsaLevel::kAvx512);
  f.avx512 = false;
  EXPECT_EQ(f.best_level(), IsaLevel::kAvx2);
  f.fma = false;
  EXPECT_EQ(f.best_level(), IsaLevel::kPlain);
  EXPECT_EQ(CpuFeatures{}.best_level(), IsaLevel::kPlain);
  EXPECT_TRUE(CpuFeatures{}.names().empty());
  EXPECT_EQ(sapphire_rapids().names().size(), 8U);
}

TEST(CpuFeatures, MatchesTheDetectionOfTheCompiler) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  const CpuFeatures& f = cpu_features();
  EXPECT_EQ(f.avx2, __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(f.fma, __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ(f.f16c, __builtin_cpu_supports("f16c") != 0);
  EXPECT_EQ(f.avx512,
            __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0);
  EXPECT_EQ(f.avx512_vnni, __builtin_cpu_supports("avx512vnni") != 0);
  EXPECT_EQ(f.avx512_bf16, __builtin_cpu_supports("avx512bf16") != 0);
#else
  GTEST_SKIP() << "the compiler provides no detection";
#endif
}

TEST(CpuFeatures, LociIsaSelectsTheLevel) {
  EXPECT_EQ(choose_level(std::nullopt, IsaLevel::kAvx512), IsaLevel::kAvx512);
  EXPECT_EQ(choose_level("", IsaLevel::kAvx512), IsaLevel::kAvx512);
  for (const IsaLevel level : kIsaLevels) {
    EXPECT_EQ(choose_level(name_of(level), IsaLevel::kAmx), level);
  }
  EXPECT_MACHINE_ERROR(choose_level("amx", IsaLevel::kAvx2),
                       HasSubstr("LOCI_ISA=amx: this machine supports levels up to avx2"));
  EXPECT_BAD_INPUT(choose_level("sse9", IsaLevel::kAvx2),
                   HasSubstr("choose one of: plain, avx2, avx512, avx512_bf16, amx"));
  EXPECT_LE(isa_level(), cpu_features().best_level());
}

}  // namespace
}  // namespace loci::kernels
