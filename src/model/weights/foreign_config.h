// SPDX-License-Identifier: Apache-2.0
// config.json files of other programs: training checkpoints of the release, original Wan2.2 and
// Diffusers, translated to and from the release's keys.
#pragma once

#include <string>

#include "loci/base/config.h"

namespace loci::model {

struct TransformerConfig;

// Whether a config.json is of a transformer, as far as it says: an autoencoder has one too.
bool describes_transformer(const Json& json);

// The same settings under the release's keys. Keys of the release pass unchanged, also beside those
// of Wan; contradictions and sizes that this model family cannot have are bad input.
//  - Original Wan2.2 ("dim", "num_heads", "in_dim", …).
//  - Training checkpoints of the release ("model_kwargs"): only the choices that its converter
//    keeps; sizes are the 5B model's.
//  - Diffusers' WanTransformer3DModel uses the release's keys.
Json to_release_config(const Json& json, const std::string& where);

// The Wan base alone, as the original and Diffusers describe it.
Json to_wan_config(const TransformerConfig& config);
Json to_diffusers_config(const TransformerConfig& config);

}  // namespace loci::model
