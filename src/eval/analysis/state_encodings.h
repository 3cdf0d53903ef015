// SPDX-License-Identifier: Apache-2.0
// Encodings of the keys of a recurrent state whose capacity is measured without a network.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/camera/geometry.h"
#include "loci/eval/report/line_plot.h"
#include "loci/model/transformer/config.h"
#include "loci/model/transformer/token_maps.h"

namespace loci::eval {

// In place of phi of a network's queries and keys, every head has one constant vector.
enum class KeyContent {
  kRandom,      // random in all channels
  kRotated,     // random in the channels that the ray rotates, zero in the others
  kEqualPairs,  // the same length in every channel pair
};

struct StateEncoding {
  std::string name, description;
  model::RecurrentMapping mapping;
  KeyContent content = KeyContent::kRandom;
};

// The paper's maps, the ray encoding with its default settings, and variants of it, for `states`
// heads.
std::vector<StateEncoding> state_encodings(int64_t states);
// The encoding of a model's hybrid blocks, for `states` heads. A model without recurrent memory is
// bad input; `where` names it.
StateEncoding model_encoding(const model::TransformerConfig& config, const std::string& where,
                             int64_t states);

// The constant vectors [states, 128], determined by the seed.
at::Tensor key_content(const StateEncoding& encoding, int64_t states, uint64_t seed);

// Queries and keys [1, N, states, 128] of unit length for the tokens of a geometry.
struct EncodedTokens {
  at::Tensor query, key;
  model::RecurrentMaps maps;
};
EncodedTokens encode_tokens(const StateEncoding& encoding, const at::Tensor& content,
                            const camera::FrameGeometry& geometry);

// Similarity of the query and the key of the image centre when the camera turns, relative to that
// of one view, by angle in degrees: the paper's tiles, its patch rotation, and ray rotations.
PlotPanel similarity_over_angle();

}  // namespace loci::eval
