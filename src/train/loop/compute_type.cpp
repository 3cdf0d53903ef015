// SPDX-License-Identifier: Apache-2.0
#include "loci/train/loop/compute_type.h"

#include "loci/kernels/machine/cpu_features.h"

namespace loci::train {

std::string read_compute(const ConfigReader& reader) {
  return reader.choose("compute", "auto", {"auto", "float32", "bfloat16"});
}

at::ScalarType compute_type(const std::string& name, at::Device device) {
  if (name == "float32") return at::kFloat;
  if (name == "bfloat16" || !device.is_cpu()) return at::kBFloat16;
  // Without BF16 instructions libtorch converts every operand, which is slower than FP32.
  return kernels::isa_level() >= kernels::IsaLevel::kAvx512Bf16 ? at::kBFloat16 : at::kFloat;
}

}  // namespace loci::train
