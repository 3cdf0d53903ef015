// SPDX-License-Identifier: Apache-2.0
// The vector instructions that processor and operating system support, and the level in use.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loci::kernels {

// Levels of instruction sets. Each level includes the previous ones.
enum class IsaLevel {
  kPlain,       // the compiler's default
  kAvx2,        // AVX2, FMA, F16C
  kAvx512,      // AVX-512 F, BW, DQ, VL
  kAvx512Bf16,  // dot products of BF16 pairs
  kAmx,         // BF16 matrix tiles; needs permission of the operating system
};
inline constexpr std::array kIsaLevels = {IsaLevel::kPlain, IsaLevel::kAvx2, IsaLevel::kAvx512,
                                          IsaLevel::kAvx512Bf16, IsaLevel::kAmx};

// "plain", "avx2", "avx512", "avx512_bf16", "amx".
std::string_view name_of(IsaLevel level);

enum class AmxState {
  kAbsent,   // not supported by processor or operating system
  kRefused,  // supported, but the operating system denies the tile registers to this process
  kGranted,
};

struct CpuFeatures {
  bool avx2 = false;
  bool fma = false;
  bool f16c = false;
  bool avx512 = false;  // F, BW, DQ and VL together
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool avx512_fp16 = false;
  bool amx_bf16 = false;  // and tiles
  bool amx_int8 = false;
  AmxState amx = AmxState::kAbsent;

  // The highest level whose instructions are all available.
  IsaLevel best_level() const;
  // The names of the available features: "avx2", "fma", …
  std::vector<std::string> names() const;
};

// The features that both processor and operating system support. The first call requests the AMX
// tile registers from the operating system for all threads of the process.
const CpuFeatures& cpu_features();

// The level named `requested` (the value of LOCI_ISA), or `best` without a name. An unknown name is
// bad input; a level above `best` is a machine error.
IsaLevel choose_level(std::optional<std::string_view> requested, IsaLevel best);

// The level that all kernels of this process use: the environment variable LOCI_ISA, or the best
// level of the machine. The variable is read once.
IsaLevel isa_level();

// All kernels use `level` while this object lives. The machine must support the level. For tests
// that compare levels. Must not be created or destroyed while kernels run.
class IsaOverride {
 public:
  explicit IsaOverride(IsaLevel level);
  ~IsaOverride();
  IsaOverride(const IsaOverride&) = delete;
  IsaOverride& operator=(const IsaOverride&) = delete;

 private:
  IsaLevel previous_;
};

}  // namespace loci::kernels
