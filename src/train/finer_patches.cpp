// SPDX-License-Identifier: Apache-2.0
#include "loci/train/finer_patches.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::train {

at::Tensor for_finer_patches(const std::string& name, const at::Tensor& parameter, int64_t from,
                             int64_t to, int64_t channels) {
  LOCI_CHECK(to > 0 && from % to == 0, "patches of {} do not divide into patches of {}", from, to);
  const int64_t ratio = from / to;
  if (name == "patch_embedding.weight") {  // [width, C, 1, from, from]
    return parameter.unflatten(4, {to, ratio}).unflatten(3, {to, ratio}).sum({4, 6});
  }
  if (name == "proj_out.weight" || name == "proj_out.bias") {  // [from * from * C, …]
    return parameter.unflatten(0, {to, ratio, to, ratio, channels}).mean({1, 3}).flatten(0, 2);
  }
  return parameter;
}

}  // namespace loci::train
