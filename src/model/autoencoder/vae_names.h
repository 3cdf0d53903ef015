// SPDX-License-Identifier: Apache-2.0
// Names of the autoencoder's parameters in the original Wan2.2 checkpoint.
#pragma once

#include <string>

namespace loci::model {

// "encoder.downsamples.0.downsamples.1.residual.2.weight" to
// "encoder.down_blocks.0.resnets.1.conv1.weight", as Diffusers calls it. Names that are not of the
// original's kind come back unchanged.
std::string vae_name_from_wan(const std::string& name);

}  // namespace loci::model
