// SPDX-License-Identifier: Apache-2.0
#include "loci/model/weights/weight_hash.h"

#include <cstring>

#include <ATen/ATen.h>

#include "loci/base/interrupt.h"
#include "loci/base/random.h"

namespace loci::model {

namespace {

// Hashes eight bytes at a time: several gigabytes per second.
uint64_t hash_bytes(uint64_t start, const void* data, size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  uint64_t hash = hash_keys({start, size});
  while (size > 0) {
    uint64_t word = 0;
    const size_t taken = std::min(size, sizeof(word));
    std::memcpy(&word, bytes, taken);
    hash = (hash ^ word) * 0x9fb21c651e98df25;
    hash ^= hash >> 32;
    bytes += taken;
    size -= taken;
  }
  return hash;
}

}  // namespace

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
