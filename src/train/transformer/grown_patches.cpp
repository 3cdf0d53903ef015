// SPDX-License-Identifier: Apache-2.0
#include "loci/train/transformer/grown_patches.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::train {

namespace {

// Appends `more` zeros along `dim`.
at::Tensor padded(const at::Tensor& x, int64_t dim, int64_t more) {
  if (more == 0) return x;
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes[static_cast<size_t>(dim)] = more;
  return at::cat({x, at::zeros(sizes, x.options())}, dim);
}

}  // namespace

bool can_grow(const PatchShape& from, const PatchShape& to) {
  return from.patch % to.patch == 0 && from.channels <= to.channels;
}

at::Tensor grown_for(const std::string& name, const at::Tensor& parameter, const PatchShape& from,
                     const PatchShape& to) {
  LOCI_CHECK(can_grow(from, to), "patches of {}x{}x{} cannot grow to {}x{}x{}", from.patch,
             from.patch, from.channels, to.patch, to.patch, to.channels);
  const int64_t ratio = from.patch / to.patch, more = to.channels - from.channels;
  if (name == "patch_embedding.weight") {  // [width, C, 1, from, from]
    const at::Tensor cells =
        parameter.unflatten(4, {to.patch, ratio}).unflatten(3, {to.patch, ratio});
    return padded(cells.sum({4, 6}), 1, more);
  }
  if (name == "proj_out.weight" || name == "proj_out.bias") {  // [from * from * C, …]
    const at::Tensor cells =
        parameter.unflatten(0, {to.patch, ratio, to.patch, ratio, from.channels});
    return padded(cells.mean({1, 3}), 2, more).flatten(0, 2);
  }
  return parameter;
}

}  // namespace loci::train
