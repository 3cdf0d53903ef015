// SPDX-License-Identifier: Apache-2.0
// The type in which a recipe's products are computed.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"

namespace loci::train {

// The recipe's "compute": float32, bfloat16, or auto.
std::string read_compute(const ConfigReader& reader);

// For auto, BF16 where the device has instructions for it. Weights stay FP32 in any case.
at::ScalarType compute_type(const std::string& name, at::Device device);

}  // namespace loci::train
