// SPDX-License-Identifier: Apache-2.0
// Transformers on disk: a folder with config.json and weights, in any layout of weight_names.h.
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
#include "loci/model/weights/parameters.h"
#include "loci/model/transformer/transformer.h"
#include "loci/model/weights/weight_names.h"

namespace loci::model {

// What is found at a path before any weight is read.
struct ModelFiles {
  TransformerConfig config;
  std::string config_source;              // the file that says so, for messages
  std::optional<io::Checkpoint> weights;  // none beside a config.json alone
};

// `path` is one of
//  - a folder with config.json and, perhaps, weights; or one whose sub-folder "transformer" is
//  that,
//  - a config.json,
//  - a file of weights, whose config is the config.json beside it, else its metadata "loci.config",
//    else that of the 5B model.
// `overrides` replace keys of the config.
ModelFiles open_model(const std::filesystem::path& path, const Json& overrides = Json::object());

struct LoadOptions {
  at::ScalarType dtype = at::kFloat;  // of the parameters, and of products
  at::Device device = at::kCPU;
  uint64_t seed = 0;  // of parameters that the checkpoint lacks
  Json overrides = Json::object();
  // Without these a checkpoint that does not fit is bad input; the message lists every tensor.
  bool allow_missing = false;     // they are initialised
  bool allow_unexpected = false;  // they are left out
  bool allow_misshapen = false;   // they are initialised
};

struct LoadedModel {
  Transformer transformer;
  WeightLayout layout = WeightLayout::kRelease;
  // A checkpoint without a single tensor of the camera and recurrent branches is plain Wan2.2: its
  // branches were created and, untrained, change nothing (see Transformer's initialisers).
  bool new_branches = false;
  LoadReport report;  // what was allowed
};

// Tensors that already have the type are shared with the file's memory map.
LoadedModel load_model(const std::filesystem::path& path, const LoadOptions& options = {});
LoadedModel load_model(const TransformerConfig& config, const io::Checkpoint& weights,
                       const LoadOptions& options = {});

// The report of loading those weights, from names and shapes alone: no number is read.
struct FitReport {
  WeightLayout layout = WeightLayout::kRelease;
  bool new_branches = false;
  LoadReport report;
};
FitReport check_fit(const TransformerConfig& config, const io::Checkpoint& weights);

struct SaveOptions {
  WeightLayout layout = WeightLayout::kRelease;
  at::ScalarType dtype = at::kBFloat16;  // or kFloat
  // Large linear layers in fewer bits; kBfloat16 leaves them to `dtype`. Not for plain layouts.
  kernels::WeightFormat quantize = kernels::WeightFormat::kBfloat16;
  uint64_t shard_bytes = uint64_t{5} << 30;
  AtomicDirectory::Existing existing = AtomicDirectory::Existing::kRefuse;
};

// Writes config.json and weights; the folder appears whole. A plain layout gets the Wan base alone.
// `parameters` are the model's, under their own names: trained, averaged or converted ones.
void save_model(const TransformerConfig& config, const std::vector<Parameter>& parameters,
                const std::filesystem::path& folder, const SaveOptions& options = {});

}  // namespace loci::model
