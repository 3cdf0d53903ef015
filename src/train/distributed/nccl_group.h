// SPDX-License-Identifier: Apache-2.0
// Collectives on CUDA tensors, where libtorch has them.
#pragma once

#include <chrono>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace loci::train {

// A group over NCCL. Bad input where this program was built without it.
c10::intrusive_ptr<c10d::Backend> make_nccl_group(const c10::intrusive_ptr<c10d::Store>& store,
                                                  int rank, int size,
                                                  std::chrono::milliseconds patience);

}  // namespace loci::train
