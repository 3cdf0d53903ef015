// SPDX-License-Identifier: Apache-2.0
#include "loci/model/weights/weight_hash.h"

#include <ATen/ATen.h>

#include "loci/base/interrupt.h"
#include "loci/base/random.h"

namespace loci::model {

std::string weight_hash(const Parameters& parameters) {
  uint64_t hash = 0;
  for (const Parameter& parameter : parameters.all()) {
    check_interrupt();
    const std::string title =
        fmt::format("{} {} {}", parameter.name, at::toString(parameter.tensor.scalar_type()),
                    fmt::join(parameter.tensor.sizes(), ","));
    hash = hash_bytes(hash, title.data(), title.size());
    const at::Tensor values = parameter.tensor.detach().cpu().contiguous();
    hash = hash_bytes(hash, values.const_data_ptr(), values.nbytes());
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace loci::model
