// SPDX-License-Identifier: Apache-2.0
// The bytes of a tensor in row-major order, for writers.
#pragma once

#include <functional>
#include <string_view>

#include <ATen/ATen.h>

namespace loci::io {

// Passes the dense, row-major CPU bytes of `tensor` to a function in pieces of a few megabytes.
// Checks for interrupts between pieces (Interrupted). A tensor that is not dense is copied first.
void for_each_piece(const at::Tensor& tensor, const std::function<void(std::string_view)>& take);

}  // namespace loci::io
