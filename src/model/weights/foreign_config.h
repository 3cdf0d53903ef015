// SPDX-License-Identifier: Apache-2.0
// Translates config.json files of other programs (training checkpoints of the release, original
// Wan2.2, Diffusers) to and from the release's keys.
#pragma once

#include <string>

#include "loci/base/config.h"

namespace loci::model {

struct TransformerConfig;

// Whether a config.json may describe a transformer; false if it names another class, such as an
// autoencoder.
bool describes_transformer(const Json& json);

// The same settings under the release's keys. Keys of the release pass unchanged, also together
// with keys of Wan. Contradictions and unsupported sizes are bad input. Accepted formats:
//  - Original Wan2.2 ("dim", "num_heads", "in_dim", …).
//  - Training checkpoints of the release ("model_kwargs"): only the settings that its converter
//    keeps; the sizes are those of the 5B model.
//  - Diffusers' WanTransformer3DModel uses the release's keys.
Json to_release_config(const Json& json, const std::string& where);

// The config of the Wan base in the format of the original and of Diffusers.
Json to_wan_config(const TransformerConfig& config);
Json to_diffusers_config(const TransformerConfig& config);

}  // namespace loci::model
