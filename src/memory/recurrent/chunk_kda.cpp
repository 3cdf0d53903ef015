// SPDX-License-Identifier: Apache-2.0
// Chunk-synchronous KDA: S ← D S once, then the delta rule over the chunk's tokens.
#include <cmath>

#include <ATen/ATen.h>

#include "loci/kernels/delta_rule/delta_rule.h"
#include "loci/memory/recurrent/recurrent_memory.h"

namespace loci::memory {

namespace {

class ChunkKda : public RecurrentMemory {
 public:
  explicit ChunkKda(bool projective) : projective_(projective) {}

  std::string_view name() const override {
    return projective_ ? "chunk_kda" : "chunk_kda_no_camera";
  }
  bool projective() const override { return projective_; }

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
  bool projective_;
};

}  // namespace

std::shared_ptr<const RecurrentMemory> make_chunk_kda(bool projective) {
  return std::make_shared<ChunkKda>(projective);
}

}  // namespace loci::memory
