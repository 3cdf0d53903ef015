// SPDX-License-Identifier: Apache-2.0
#include "loci/memory/recurrent/recurrent_registry.h"

#include <utility>

namespace loci::memory {

namespace {

Registry<RecurrentMemoryFactory>& recurrent_registry() {
  static Registry<RecurrentMemoryFactory> all(
      "recurrent memory",
      {{"chunk_kda", "retention once per chunk, delta rule token by token",
        [] { return make_chunk_kda(KeyEncoding::kProjective); }},
       {"chunk_kda_no_camera", "chunk_kda without the camera's projection",
        [] { return make_chunk_kda(KeyEncoding::kPatch); }},
       {"ray_kda", "chunk_kda whose keys distinguish rays by rotary phases",
        [] { return make_chunk_kda(KeyEncoding::kRay); }},
       {"token_kda", "retention and delta rule at every token", make_token_kda},
       {"frame_deltanet", "gated delta rule with one step per latent frame", make_frame_deltanet},
       {"linear", "additive linear attention with a normaliser, no forgetting", make_linear_state},
       {"ssm", "diagonal state-space scan, one state per block of the token grid",
        make_state_space},
       {"none", "no recurrent memory: every block attends to its history",
        [] { return std::shared_ptr<const RecurrentMemory>(); }}});
  return all;
}

}  // namespace

void register_recurrent_memory(RecurrentMemoryKind kind) {
  recurrent_registry().add(std::move(kind));
}

const RecurrentMemoryKind& recurrent_memory_kind(const std::string& name) {
  return recurrent_registry().at(name);
}

std::vector<std::string> recurrent_memory_names() { return recurrent_registry().names(); }

std::shared_ptr<const RecurrentMemory> make_recurrent_memory(const std::string& name) {
  return recurrent_memory_kind(name).make();
}

}  // namespace loci::memory
