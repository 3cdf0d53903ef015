// SPDX-License-Identifier: Apache-2.0
#include "loci/memory/recurrent/recurrent_memory.h"

#include <cmath>

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::memory {

std::vector<int64_t> RecurrentMemory::state_shape(int64_t batch, int64_t heads, int64_t channels,
                                                  const camera::TokenGrid&) const {
  return {batch, heads, channels, channels};
}

int64_t RecurrentMemory::retention_rows(int64_t tokens, const camera::TokenGrid& grid) const {
  switch (grain()) {
    case Grain::kChunk:
      return 1;
    case Grain::kFrame:
      return tokens / grid.tokens();
    case Grain::kToken:
      return tokens;
  }
  fail_check("a grain of value {}", static_cast<int>(grain()));
}

at::Tensor RecurrentMemory::read(const at::Tensor& state, const at::Tensor& query,
                                 const camera::TokenGrid&) const {
  // Sᵀ q of every token: [B, H, N, D] x [B, H, D, D].
  const double scale = 1 / std::sqrt(static_cast<double>(query.size(-1)));
  return at::matmul(query.transpose(1, 2), state).mul(scale).transpose(1, 2);
}

at::Tensor RecurrentMemory::run(at::Tensor& state, const ChunkSequence& chunks,
                                const camera::TokenGrid& grid) const {
  std::vector<at::Tensor> reads;
  int64_t begin = 0, retained = 0;
  for (size_t i = 0; i < chunks.ends.size(); ++i) {
    const int64_t size = chunks.ends[i] - begin;
    if (chunks.query.defined()) {
      reads.push_back(read(state, chunks.query.narrow(1, begin, size), grid));
    }
    if (i + 1 < chunks.ends.size() || chunks.write_last) {
      const int64_t rows = retention_rows(size, grid);
      const ChunkWrite& all = chunks.write;
      state = write(state,
                    {all.key.narrow(1, begin, size), all.value.narrow(1, begin, size),
                     all.beta.narrow(1, begin, size), all.log_retention.narrow(1, retained, rows)},
                    grid);
      retained += rows;
    }
    begin += size;
  }
  if (reads.empty()) return {};
  return reads.size() == 1 ? reads.front() : at::cat(reads, 1);
}

at::Tensor fold_heads(const at::Tensor& x) { return x.transpose(1, 2).flatten(0, 1); }

}  // namespace loci::memory
