// SPDX-License-Identifier: Apache-2.0
// The kernels as operators of PyTorch's dispatcher: torch.ops.load_library("libloci_ops.so"), then
// torch.ops.loci.attention and so on. Each is composed of differentiable functions, so gradients
// come along, and each falls back on ATen for devices and types without a kernel.
#include <optional>
#include <vector>

#include <ATen/ATen.h>
#include <torch/library.h>

#include "loci/kernels/attention.h"
#include "loci/kernels/cpu_features.h"
#include "loci/kernels/delta_rule.h"
#include "loci/kernels/head_map.h"

namespace loci::kernels {

namespace {

// Past keys and values [F, B, T, H, D] in slots of which `index` names those attended to.
at::Tensor attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                  const std::optional<at::Tensor>& past_key,
                  const std::optional<at::Tensor>& past_value, at::IntArrayRef index) {
  TORCH_CHECK(past_key.has_value() == past_value.has_value(),
              "loci::attention: give past_key and past_value together");
  if (!past_key) return attention(query, key, value);
  const AttentionPast past({past_key->contiguous(), {}}, {past_value->contiguous(), {}},
                           index.vec(), query.scalar_type(), query.device(), std::nullopt);
  return attention(query, key, value, &past);
}

// `rotations` holds three numbers each: first channel, pairs, and 1 for adjacent pairs.
at::Tensor map_heads(const at::Tensor& x, int64_t tiles_begin, int64_t tiles,
                     const std::optional<at::Tensor>& matrices, at::IntArrayRef rotations,
                     const std::optional<at::Tensor>& cosine,
                     const std::optional<at::Tensor>& sine) {
  TORCH_CHECK(rotations.size() % 3 == 0,
              "loci::head_map: rotations come in threes: first channel, pairs, adjacent");
  HeadMap map;
  map.tiles_begin = tiles_begin;
  map.tiles = tiles;
  TORCH_CHECK(tiles == 0 || matrices, "loci::head_map: tiles need matrices [N, 4, 4]");
  if (matrices) map.matrices = *matrices;
  for (size_t i = 0; i < rotations.size(); i += 3) {
    map.rotations.push_back(
        {.begin = rotations[i], .pairs = rotations[i + 1], .adjacent = rotations[i + 2] != 0});
  }
  TORCH_CHECK(rotations.empty() || (cosine && sine),
              "loci::head_map: rotations need cosine and sine [N, pairs]");
  if (cosine) map.cosine = *cosine;
  if (sine) map.sine = *sine;
  return head_map(x, map);
}

std::string level() { return std::string(name_of(isa_level())); }

}  // namespace

}  // namespace loci::kernels

TORCH_LIBRARY(loci, library) {
  library.def(
      "attention(Tensor query, Tensor key, Tensor value, Tensor? past_key=None, Tensor? "
      "past_value=None, int[] index=[]) -> Tensor",
      &loci::kernels::attend);
  library.def(
      "head_map(Tensor x, int tiles_begin, int tiles, Tensor? matrices, int[] rotations, Tensor? "
      "cosine, Tensor? sine) -> Tensor",
      &loci::kernels::map_heads);
  library.def("delta_write(Tensor state, Tensor key, Tensor value, Tensor beta) -> Tensor",
              &loci::kernels::delta_write);
  library.def(
      "decayed_delta_write(Tensor state, Tensor key, Tensor value, Tensor beta, Tensor log_decay) "
      "-> Tensor",
      &loci::kernels::decayed_delta_write);
  library.def("isa_level() -> str", &loci::kernels::level);
}
