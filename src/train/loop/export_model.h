// SPDX-License-Identifier: Apache-2.0
// From a training run to a model folder that can be generated from.
#pragma once

#include <filesystem>

#include <c10/core/ScalarType.h>

namespace loci::train {

struct ExportOptions {
  std::filesystem::path vae;  // folder of an autoencoder to put beside; empty: none
  at::ScalarType dtype = at::kBFloat16;
  bool averaged = true;  // the averaged weights instead of the last ones
  bool replace = false;  // an existing folder
};

// Writes <out>/transformer, text_encoder if one was trained along, and with a vae that and
// generation.json, from the run's newest checkpoint.
void export_model(const std::filesystem::path& run, const std::filesystem::path& out,
                  const ExportOptions& options);

}  // namespace loci::train
