// SPDX-License-Identifier: Apache-2.0
// Maps the weight names of several publishers of vision transformers to one naming.
#pragma once

#include <map>
#include <string>

#include <ATen/core/Tensor.h>

namespace loci::eval {

// Result: class_token [D], positions [1 + n, D], registers [r, D], patch.weight and .bias,
// before.*, after.*, projection [D, D'], blocks.N.{norm1,norm2,qkv,out,fc1,fc2}.{weight,bias} and
// blocks.N.{scale1,scale2}. Other tensors (text encoder, training) are dropped.
std::map<std::string, at::Tensor> plain_vision_names(
    const std::map<std::string, at::Tensor>& weights);

}  // namespace loci::eval
