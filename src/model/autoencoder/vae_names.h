// SPDX-License-Identifier: Apache-2.0
// Translates parameter names of the original Wan2.2 autoencoder.
#pragma once

#include <string>

namespace loci::model {

// The Diffusers name of an original name, for example
// "encoder.downsamples.0.downsamples.1.residual.2.weight" →
// "encoder.down_blocks.0.resnets.1.conv1.weight". Other names are returned unchanged.
std::string vae_name_from_wan(const std::string& name);

}  // namespace loci::model
