// SPDX-License-Identifier: Apache-2.0
// Chunk-synchronous KDA: S ← D S once, then the delta rule over the chunk's tokens. The memories of
// this kind differ in the encoding of their keys.
#include <cmath>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/kernels/delta_rule/delta_rule.h"
#include "loci/memory/recurrent/recurrent_memory.h"

namespace loci::memory {

namespace {

class ChunkKda : public RecurrentMemory {
 public:
  explicit ChunkKda(KeyEncoding encoding) : encoding_(encoding) {}

  std::string_view name() const override {
    switch (encoding_) {
      case KeyEncoding::kPatch:
        return "chunk_kda_no_camera";
      case KeyEncoding::kProjective:
        return "chunk_kda";
      case KeyEncoding::kRay:
        return "ray_kda";
    }
    fail_check("an encoding of value {}", static_cast<int>(encoding_));
  }
  KeyEncoding encoding() const override { return encoding_; }
  // Keys of many directions fill the state only if a write does not erase what earlier ones left:
  // with β = 1 the newest tokens replace the rest (docs/experiments/state-capacity.md).
  GateStart gate_start() const override {
    return encoding_ == KeyEncoding::kRay ? GateStart{.beta = 0.1, .retention = 0.995}
                                          : GateStart{};
  }

  at::Tensor write(const at::Tensor& state, const ChunkWrite& chunk,
                   const camera::TokenGrid& grid) const override {
    at::Tensor written = state;
    run(written, {.ends = {chunk.key.size(1)}, .write_last = true, .query = {}, .write = chunk},
        grid);
    return written;
  }

  at::Tensor run(at::Tensor& state, const ChunkSequence& chunks,
                 const camera::TokenGrid&) const override {
    const ChunkWrite& all = chunks.write;
    const double scale = 1 / std::sqrt(static_cast<double>(all.key.size(-1)));
    const kernels::DeltaPass pass = kernels::delta_chunks(
        state, chunks.query, all.key, all.value, all.beta, all.log_retention.exp(),
        {.ends = chunks.ends, .write_last = chunks.write_last}, scale);
    state = pass.state;
    return pass.read;
  }

 private:
  KeyEncoding encoding_;
};

}  // namespace

std::shared_ptr<const RecurrentMemory> make_chunk_kda(KeyEncoding encoding) {
  return std::make_shared<ChunkKda>(encoding);
}

}  // namespace loci::memory
