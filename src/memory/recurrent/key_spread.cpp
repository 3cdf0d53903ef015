// SPDX-License-Identifier: Apache-2.0
#include "loci/memory/recurrent/key_spread.h"

#include <ATen/ATen.h>

namespace loci::memory {

at::Tensor key_moments(const at::Tensor& keys) {
  const at::Tensor heads = keys.flatten(0, 1).transpose(0, 1).to(at::kFloat);
  return at::bmm(heads.transpose(1, 2), heads);
}

double key_directions(const at::Tensor& moments) {
  const at::Tensor trace = moments.diagonal(0, 1, 2).sum(1);
  return (trace.square() / moments.square().sum({1, 2})).mean().item<double>();
}

}  // namespace loci::memory
