// SPDX-License-Identifier: Apache-2.0
// Which vector instructions kernels may use: what processor and system offer, and the level chosen.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loci::kernels {

// Each level includes the ones before it. Kernels are compiled once per level they profit from.
enum class IsaLevel {
  kPlain,       // no assumption beyond the compiler's default
  kAvx2,        // AVX2, FMA, F16C
  kAvx512,      // AVX-512 F, BW, DQ, VL
  kAvx512Bf16,  // dot products of bfloat16 pairs
  kAmx,         // bfloat16 tiles; needs a permission of the system
};
inline constexpr std::array kIsaLevels = {IsaLevel::kPlain, IsaLevel::kAvx2, IsaLevel::kAvx512,
                                          IsaLevel::kAvx512Bf16, IsaLevel::kAmx};

// "plain", "avx2", "avx512", "avx512_bf16", "amx".
std::string_view name_of(IsaLevel level);

enum class AmxState {
  kAbsent,   // the processor or the system has none
  kRefused,  // there, but the system denies this process the tile registers
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
  bool amx_bf16 = false;  // with tiles
  bool amx_int8 = false;
  AmxState amx = AmxState::kAbsent;

  // The highest level all of whose instructions may be used.
  IsaLevel best_level() const;
  // "avx2", "fma", … of those that are there.
  std::vector<std::string> names() const;
};

// Features that processor and operating system both support. The first call asks the system for
// the AMX tile registers, for all threads of the process.
const CpuFeatures& cpu_features();

// `requested` (the value of LOCI_ISA, if any) or the best level. A name that does not exist is bad
// input; a level above `best` is a machine error.
IsaLevel choose_level(std::optional<std::string_view> requested, IsaLevel best);

// The level kernels use in this process: choose_level() of the environment variable LOCI_ISA and
// this machine, decided once.
IsaLevel isa_level();

// All kernels use `level`, which the machine must have, as long as this lives. For comparing
// levels with each other; not to be made while kernels run.
class IsaOverride {
 public:
  explicit IsaOverride(IsaLevel level);
  ~IsaOverride();
  IsaOverride(const IsaOverride&) = delete;
  IsaOverride& operator=(const IsaOverride&) = delete;

 private:
  IsaLevel before_;
};

}  // namespace loci::kernels
