// SPDX-License-Identifier: Apache-2.0
// A denoising step in the middle of a stream with a synthetic history: everything that a forward
// pass needs besides its latents, without generating the chunks before.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/memory/kv/kv_store.h"
#include "loci/model/transformer/config.h"
#include "loci/model/transformer/forward_context.h"
#include "loci/model/transformer/token_maps.h"

namespace loci::eval {

struct ChunkStepOptions {
  camera::TokenGrid grid;
  int64_t past_frames = 29;
  // Whether the history is bounded, so that keys are rotated to compact times, or dense, so that
  // all frames keep their own times.
  bool bounded = true;
  at::ScalarType dtype = at::kFloat;  // of products
  memory::KvFormat kv = memory::KvFormat::kPlain;
  int64_t staging_bytes = 0;  // as in memory::KvLayout
};

class ChunkStep {
 public:
  ChunkStep(const model::TransformerConfig& config, const ChunkStepOptions& options);
  ChunkStep(const ChunkStep&) = delete;
  ChunkStep& operator=(const ChunkStep&) = delete;

  // Context of a denoising step: it reads states and history and writes neither. The text is not
  // set.
  model::ForwardContext context() const;

  const ChunkStepOptions& options() const { return options_; }
  const model::TokenMaps& maps() const { return maps_; }
  int64_t tokens() const { return maps_.tokens(); }
  int64_t past_tokens() const { return options_.past_frames * options_.grid.tokens(); }
  // Bytes of keys and values in their slots, and of the keys staged for the chunk.
  int64_t store_bytes() const { return store_.bytes(); }
  int64_t staged_bytes() const { return past_.staged_bytes(); }

 private:
  ChunkStepOptions options_;
  model::TokenMaps maps_;
  memory::KvStore store_;
  model::PastKeys past_;
  std::vector<at::Tensor>
      states_;  // by layer, in the wide type; undefined without a recurrent state
};

}  // namespace loci::eval
