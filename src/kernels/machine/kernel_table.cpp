// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/machine/kernel_table.h"

#include <array>
#include <atomic>

#include "loci/base/error.h"
#include "loci/kernels/machine/cpu_features.h"

namespace loci::kernels {

namespace {

KernelTable build_table([[maybe_unused]] IsaLevel level) {
  KernelTable table{};
  add_plain_kernels(table);
#if defined(__x86_64__)
  const CpuFeatures& features = cpu_features();
  if (level >= IsaLevel::kAvx2) add_avx2_kernels(table);
  if (level >= IsaLevel::kAvx512) {
    add_avx512_kernels(table);
    if (features.avx512_vnni) add_avx512_vnni_kernels(table);
  }
  if (level >= IsaLevel::kAvx512Bf16) add_avx512_bf16_kernels(table);
  if (level >= IsaLevel::kAmx) {
    add_amx_bf16_kernels(table);
    if (features.amx_int8) add_amx_int8_kernels(table);
  }
#endif
  return table;
}

std::atomic<const KernelTable*> table_override = nullptr;

}  // namespace

const KernelTable& kernel_table(IsaLevel level) {
  const IsaLevel best = cpu_features().best_level();
  LOCI_CHECK(level <= best, "no kernels of level {}: this machine supports up to {}",
             name_of(level), name_of(best));
  // Functions that fill a table are compiled for its level, so tables above the best are not built.
  static const auto tables = [best] {
    std::array<KernelTable, kIsaLevels.size()> all{};
    for (size_t i = 0; i < all.size(); ++i) {
      if (kIsaLevels[i] <= best) all[i] = build_table(kIsaLevels[i]);
    }
    return all;
  }();
  return tables[static_cast<size_t>(level)];
}

const KernelTable& kernel_table() {
  const KernelTable* replaced = table_override.load(std::memory_order_relaxed);
  return replaced != nullptr ? *replaced : kernel_table(isa_level());
}

KernelTableOverride::KernelTableOverride(const KernelTable& table)
    : table_(table), previous_(table_override.exchange(&table_)) {}

KernelTableOverride::~KernelTableOverride() { table_override = previous_; }

}  // namespace loci::kernels
