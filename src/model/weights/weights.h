// SPDX-License-Identifier: Apache-2.0
// Loads and saves transformers: a folder with config.json and weights in any layout of
// weight_names.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "loci/base/config.h"
#include "loci/base/file.h"
#include "loci/io/tensors/checkpoint.h"
#include "loci/kernels/linear/quantized_weight.h"
#include "loci/model/transformer/config.h"
#include "loci/model/transformer/transformer.h"
#include "loci/model/weights/parameters.h"
#include "loci/model/weights/weight_names.h"

namespace loci::model {

// The files of a model; no weights are read yet.
struct ModelFiles {
  TransformerConfig config;
  std::string config_source;              // the file of the config, for messages
  std::optional<io::Checkpoint> weights;  // none if there is only a config.json
};

// `path` is one of
//  - a folder with config.json and optional weights, or a folder with such a sub-folder
//    "transformer",
//  - a config.json,
//  - a weights file. Its config is the config.json in the same folder, else its metadata
//    "loci.config", else the config of the 5B model.
// `overrides` replace keys of the config.
ModelFiles open_model(const std::filesystem::path& path, const Json& overrides = Json::object());

struct LoadOptions {
  at::ScalarType dtype = at::kFloat;  // type of parameters and products
  at::Device device = at::kCPU;
  uint64_t seed = 0;  // for parameters that the checkpoint does not have
  Json overrides = Json::object();
  // A checkpoint that does not fit is bad input unless these allow it; the error lists all tensors.
  bool allow_missing = false;     // initialise missing tensors
  bool allow_unexpected = false;  // ignore unexpected tensors
  bool allow_misshapen = false;   // initialise tensors with a wrong shape
};

struct LoadedModel {
  Transformer transformer;
  WeightLayout layout = WeightLayout::kRelease;
  // Whether the checkpoint is plain Wan2.2, without any tensor of the camera and recurrent
  // branches. The new branches have no effect before training (see the initialisers of
  // Transformer).
  bool new_branches = false;
  LoadReport report;  // the differences that were allowed
};

// The weights are private copies in memory: later changes to the files do not affect the model.
// Files that are modified during the load are bad input.
LoadedModel load_model(const std::filesystem::path& path, const LoadOptions& options = {});
LoadedModel load_model(const TransformerConfig& config, const io::Checkpoint& weights,
                       const LoadOptions& options = {});

// The report of loading these weights, from names and shapes only; no weights are read.
struct FitReport {
  WeightLayout layout = WeightLayout::kRelease;
  bool new_branches = false;
  LoadReport report;
};
FitReport check_fit(const TransformerConfig& config, const io::Checkpoint& weights);

struct SaveOptions {
  WeightLayout layout = WeightLayout::kRelease;
  at::ScalarType dtype = at::kBFloat16;  // or kFloat
  // Format of large linear layers; kBfloat16 means no quantization: they have type `dtype`. Plain
  // layouts cannot be quantized.
  kernels::WeightFormat quantize = kernels::WeightFormat::kBfloat16;
  uint64_t shard_bytes = uint64_t{5} << 30;
  AtomicDirectory::Existing existing = AtomicDirectory::Existing::kRefuse;
};

// Writes config.json and weights; the folder appears atomically. A plain layout contains only the
// Wan base. `parameters` are the model's parameters (trained, EMA or converted) under their names.
void save_model(const TransformerConfig& config, const std::vector<Parameter>& parameters,
                const std::filesystem::path& folder, const SaveOptions& options = {});

}  // namespace loci::model
