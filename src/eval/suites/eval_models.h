// SPDX-License-Identifier: Apache-2.0
// The models that are compared, and the ways in which each of them is run.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loci/base/config.h"
#include "loci/eval/suites/suite.h"
#include "loci/sample/model_folder.h"

namespace loci::eval {

struct ModelChoice {
  std::string name;
  std::filesystem::path path;
};
// "DIR", named after its folder, or "NAME=DIR". Names that occur twice are bad input.
std::vector<ModelChoice> parse_models(const std::vector<std::string>& texts);

// One way to run a model.
struct Arm {
  std::string label;                   // "sparse 29"
  std::optional<std::string> history;  // the model folder's own if not given
  std::optional<int64_t> budget = {};  // frames; likewise
  model::Readout readout = model::Readout::kOn;
  int64_t reset_every = 0;  // chunks before which the recurrent states are forgotten; 0 = never
  // Of an arm that differs from an earlier one only in the two above: that one's place, and in what
  // it differs. Models without recurrent states have no such arms.
  std::optional<size_t> base = {};
  std::string variation = {};
};

// Ways to run the recurrent memory at inference beside the usual one.
struct Variations {
  std::vector<model::Readout> readouts;
  std::vector<int64_t> resets;  // every so many chunks
};
// Every arm, followed by its variations.
std::vector<Arm> with_variations(const std::vector<Arm>& arms, const Variations& variations);
// ", readout off" and the like; nothing for the usual one.
std::string suffix_of(model::Readout readout);

// What all models and arms share.
struct Sampling {
  std::optional<int64_t> width, height;  // pixels; what the first model was made for
  std::optional<int64_t> steps;
  std::optional<std::string> solver;
  std::optional<double> guidance;
  uint64_t seed = 42;
  at::ScalarType dtype = at::kFloat;
  bool captions = true;  // prompt models that have a text encoder with the clip's caption
  // Where recordings are kept as latents; results do not depend on it.
  std::filesystem::path cache;
};

// "model", with several histories "model, label"; and the variation.
std::string variant_name(const ModelChoice& model, const Arm& arm, const std::vector<Arm>& arms);

// A group per model with a variant per arm.
std::vector<Group> model_groups(const std::vector<ModelChoice>& models,
                                const std::vector<Arm>& arms);

// Whether there are recurrent states to read, switch off or forget.
bool has_recurrent_states(const model::TransformerConfig& config);

sample::StreamOptions stream_options(const sample::ModelFolder& folder, const Arm& arm,
                                     const Sampling& sampling, int64_t width, int64_t height);

sample::Prompt prompt_for(const sample::ModelFolder& folder, const std::string& caption,
                          const Sampling& sampling);

// Names the weights in a folder without reading all of them: names, sizes, and the first and last
// megabyte of every weight file.
std::string fingerprint(const std::filesystem::path& folder);

// Names and sizes of the pictures and videos in a folder of recordings, wherever it lies; what is
// in `out` is not part of it.
std::string data_fingerprint(const std::filesystem::path& data, const std::filesystem::path& out);

Json describe(const std::vector<ModelChoice>& models, const std::vector<Arm>& arms,
              const Sampling& sampling);

}  // namespace loci::eval
