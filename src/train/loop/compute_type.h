// SPDX-License-Identifier: Apache-2.0
// The type of matrix products in training.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"

namespace loci::train {

// Reads the key "compute": float32, bfloat16 or auto.
std::string read_compute(const ConfigReader& reader);

// "auto" means BF16 if the device has instructions for it. Weights are FP32 in any case.
at::ScalarType compute_type(const std::string& name, at::Device device);

}  // namespace loci::train
