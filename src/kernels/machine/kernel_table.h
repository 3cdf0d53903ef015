// SPDX-License-Identifier: Apache-2.0
// One table of function pointers for all vectorized kernels. Every level starts from the table of
// the level below and replaces the entries that its instructions make faster.
//
// The files kernels_<instruction set>.cpp are compiled with their own flags. They must not export
// any other function, not even an inline one from a header: the linker keeps a single copy of it,
// which could contain instructions that the processor lacks. Small constexpr functions are safe,
// because they are inlined. The test kernels/isa_symbols checks the exported symbols.
#pragma once

#include "loci/kernels/attention/attention_backward_kernel.h"
#include "loci/kernels/attention/attention_kernel.h"
#include "loci/kernels/convolution/conv_weight_gradient_kernel.h"
#include "loci/kernels/delta_rule/delta_rule_kernel.h"
#include "loci/kernels/elementwise/gelu_kernel.h"
#include "loci/kernels/elementwise/head_map_kernel.h"
#include "loci/kernels/elementwise/norm_silu_kernel.h"
#include "loci/kernels/elementwise/residual_norm_kernel.h"
#include "loci/kernels/elementwise/rms_norm_kernel.h"
#include "loci/kernels/linear/packed_linear_kernel.h"
#include "loci/kernels/machine/peak_kernel.h"

namespace loci::kernels {

enum class IsaLevel;

struct KernelTable {
  attention_kernels::Kernels attention;
  attention_backward_kernels::Kernels attention_backward;
  conv_weight_gradient_kernels::Kernels conv_weight_gradient;
  delta_rule_kernels::Kernels delta_rule;
  gelu_kernels::Kernels gelu;
  head_map_kernels::Kernels head_map;
  norm_silu_kernels::Kernels norm_silu;
  packed_linear_kernels::Kernels packed_linear;
  peak_kernels::Kernels peak;
  residual_norm_kernels::Kernels residual_norm;
  rms_norm_kernels::Kernels rms_norm;
};

// The table of isa_level(), or that of a KernelTableOverride.
const KernelTable& kernel_table();
// The table of one level, which must not be above the best level of this machine.
const KernelTable& kernel_table(IsaLevel level);

// kernel_table() returns `table` while this object lives. Lets tests run kernels whose instructions
// the host lacks on emulated instructions. Must not be created or destroyed while kernels run.
class KernelTableOverride {
 public:
  explicit KernelTableOverride(const KernelTable& table);
  ~KernelTableOverride();
  KernelTableOverride(const KernelTableOverride&) = delete;
  KernelTableOverride& operator=(const KernelTableOverride&) = delete;

 private:
  KernelTable table_;
  const KernelTable* previous_;
};

// Each sets the entries that an instruction set implements, and may be called only on a processor
// that has it. The plain kernels set every entry except the peak rates of BF16 and INT8.
void add_plain_kernels(KernelTable& table);
void add_avx2_kernels(KernelTable& table);
void add_avx512_kernels(KernelTable& table);
void add_avx512_vnni_kernels(KernelTable& table);
void add_avx512_bf16_kernels(KernelTable& table);
void add_amx_bf16_kernels(KernelTable& table);
void add_amx_int8_kernels(KernelTable& table);

}  // namespace loci::kernels
