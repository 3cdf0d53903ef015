// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/machine/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "loci/base/choice.h"
#include "loci/base/error.h"

namespace loci::kernels {

namespace {

#if defined(__x86_64__)

struct CpuidRegisters {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// All zero if the processor does not support the leaf.
CpuidRegisters cpuid(unsigned leaf, unsigned subleaf) {
  CpuidRegisters r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

constexpr bool bit(uint64_t word, int index) { return (word >> index & 1) != 0; }

// XCR0: the register files that the operating system saves on a context switch.
uint64_t saved_registers() {
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

// Since version 5.16, Linux grants the 8 KB of tile registers only to processes that request them.
bool request_tile_registers() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM of asm/prctl.h
  constexpr long kTileData = 18;               // the state component of the tiles
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

CpuFeatures detect() {
  CpuFeatures f;
  const CpuidRegisters one = cpuid(1, 0);
  if (!bit(one.ecx, 27)) return f;  // OSXSAVE, required for xgetbv
  const uint64_t saved = saved_registers();
  const CpuidRegisters seven = cpuid(7, 0);
  const CpuidRegisters seven_one = seven.eax >= 1 ? cpuid(7, 1) : CpuidRegisters{};
  const bool ymm = bit(saved, 1) && bit(saved, 2);
  const bool zmm = ymm && bit(saved, 5) && bit(saved, 6) && bit(saved, 7);
  const bool tiles = bit(saved, 17) && bit(saved, 18) && bit(seven.edx, 24);

  f.fma = ymm && bit(one.ecx, 12);
  f.f16c = ymm && bit(one.ecx, 29);
  f.avx2 = ymm && bit(seven.ebx, 5);
  f.avx512 =
      zmm && bit(seven.ebx, 16) && bit(seven.ebx, 17) && bit(seven.ebx, 30) && bit(seven.ebx, 31);
  f.avx512_vnni = f.avx512 && bit(seven.ecx, 11);
  f.avx512_bf16 = f.avx512 && bit(seven_one.eax, 5);
  f.avx512_fp16 = f.avx512 && bit(seven.edx, 23);
  f.amx_bf16 = tiles && bit(seven.edx, 22);
  f.amx_int8 = tiles && bit(seven.edx, 25);
  if (tiles) f.amx = request_tile_registers() ? AmxState::kGranted : AmxState::kRefused;
  return f;
}

#else

CpuFeatures detect() { return {}; }

#endif

}  // namespace

std::string_view name_of(IsaLevel level) {
  switch (level) {
    case IsaLevel::kPlain:
      return "plain";
    case IsaLevel::kAvx2:
      return "avx2";
    case IsaLevel::kAvx512:
      return "avx512";
    case IsaLevel::kAvx512Bf16:
      return "avx512_bf16";
    case IsaLevel::kAmx:
      return "amx";
  }
  return "plain";
}

IsaLevel CpuFeatures::best_level() const {
  if (!(avx2 && fma && f16c)) return IsaLevel::kPlain;
  if (!avx512) return IsaLevel::kAvx2;
  if (!avx512_bf16) return IsaLevel::kAvx512;
  if (!(amx_bf16 && amx == AmxState::kGranted)) return IsaLevel::kAvx512Bf16;
  return IsaLevel::kAmx;
}

std::vector<std::string> CpuFeatures::names() const {
  const std::pair<bool, const char*> all[] = {
      {avx2, "avx2"},
      {fma, "fma"},
      {f16c, "f16c"},
      {avx512, "avx512"},
      {avx512_vnni, "avx512_vnni"},
      {avx512_bf16, "avx512_bf16"},
      {avx512_fp16, "avx512_fp16"},
      {amx_bf16, "amx_bf16"},
      {amx_int8, "amx_int8"},
  };
  std::vector<std::string> present;
  for (const auto& [available, name] : all) {
    if (available) present.emplace_back(name);
  }
  return present;
}

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

IsaLevel choose_level(std::optional<std::string_view> requested, IsaLevel best) {
  if (!requested || requested->empty()) return best;
  std::vector<std::string> names;
  for (const IsaLevel level : kIsaLevels) {
    names.emplace_back(name_of(level));
    if (name_of(level) != *requested) continue;
    if (level > best) {
      fail_machine(
          "LOCI_ISA={}: this machine supports levels up to {}; choose a lower level or unset "
          "LOCI_ISA",
          *requested, name_of(best));
    }
    return level;
  }
  fail("LOCI_ISA: {}", unknown_choice("instruction set", *requested, names));
}

namespace {

std::atomic<IsaLevel>& current_level() {
  static std::atomic<IsaLevel> level = [] {
    const char* requested = std::getenv("LOCI_ISA");
    return choose_level(
        requested == nullptr ? std::nullopt : std::optional<std::string_view>(requested),
        cpu_features().best_level());
  }();
  return level;
}

}  // namespace

IsaLevel isa_level() { return current_level().load(std::memory_order_relaxed); }

IsaOverride::IsaOverride(IsaLevel level) : previous_(isa_level()) {
  LOCI_CHECK(level <= cpu_features().best_level(), "this machine does not support {}",
             name_of(level));
  current_level() = level;
}

IsaOverride::~IsaOverride() { current_level() = previous_; }

}  // namespace loci::kernels
