// SPDX-License-Identifier: Apache-2.0
// A chunk in the middle of a stream whose past is made up: what a forward pass is given beside its
// latents, without the many chunks that would lead there.
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
  // Whether the past is a bounded choice of frames, whose keys turn to compact times, or all of
  // them at their own.
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

  // A denoising step: reads states and history, writes neither. No text yet.
  model::ForwardContext context() const;

  const ChunkStepOptions& options() const { return options_; }
  const model::TokenMaps& maps() const { return maps_; }
  // By layer, in the wide type; undefined where a block has none.
  const std::vector<at::Tensor>& states() const { return states_; }
  int64_t tokens() const { return maps_.tokens(); }
  int64_t past_tokens() const { return options_.past_frames * options_.grid.tokens(); }
  // Of keys and values in their slots, and of what the chunk holds of them beside.
  int64_t store_bytes() const { return store_.bytes(); }
  int64_t staged_bytes() const { return past_.staged_bytes(); }

 private:
  ChunkStepOptions options_;
  model::TokenMaps maps_;
  memory::KvStore store_;
  model::PastKeys past_;
  std::vector<at::Tensor> states_;
};

}  // namespace loci::eval
