// SPDX-License-Identifier: Apache-2.0
// Exports a training run to a model folder for generation.
#pragma once

#include <filesystem>

#include <c10/core/ScalarType.h>

namespace loci::train {

struct ExportOptions {
  std::filesystem::path vae;  // folder of an autoencoder to include; empty: none
  at::ScalarType dtype = at::kBFloat16;
  bool ema = true;       // the EMA weights instead of the last ones
  bool replace = false;  // whether to replace an existing folder
};

// Writes <out>/transformer from the run's newest checkpoint, text_encoder if one was trained, and,
// with an autoencoder, vae and generation.json.
void export_model(const std::filesystem::path& run, const std::filesystem::path& out,
                  const ExportOptions& options);

}  // namespace loci::train
