// SPDX-License-Identifier: Apache-2.0
// Names of vision transformers' weights, of several publishers, as one.
#pragma once

#include <map>
#include <string>

#include <ATen/core/Tensor.h>

namespace loci::eval {

// class_token [D], positions [1 + n, D], registers [r, D], patch.weight/.bias, before.*, after.*,
// projection [D, D'], and blocks.N. norm1/norm2/qkv/out/fc1/fc2 .weight/.bias, scale1, scale2.
// Tensors that belong to something else (texts, training) are left out.
std::map<std::string, at::Tensor> plain_vision_names(
    const std::map<std::string, at::Tensor>& weights);

}  // namespace loci::eval
