// SPDX-License-Identifier: Apache-2.0
// The models that are compared, and the arms: the ways in which each model is run.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loci/base/config.h"
#include "loci/eval/suites/eval_clips.h"
#include "loci/eval/suites/suite.h"
#include "loci/sample/model_folder.h"

namespace loci::eval {

struct ModelChoice {
  std::string name;
  std::filesystem::path path;
};
// Parses "DIR" (named after the folder) and "NAME=DIR". Duplicate names are bad input; the error
// names `option`.
std::vector<ModelChoice> parse_models(const std::vector<std::string>& texts,
                                      std::string_view option = "--model");

// Experimental arm: one way to run a model.
struct Arm {
  std::string label;                   // "sparse 29"
  std::optional<std::string> history;  // history policy; default: from the model folder
  std::optional<int64_t> budget = {};  // retained frames; default: from the model folder
  model::Readout readout = model::Readout::kOn;
  int64_t reset_every = 0;  // reset the recurrent states before every N-th chunk; 0 = never
  std::optional<uint64_t> seed = {};  // of the noise; default: Sampling::seeds.front()
  // For an arm that differs from an earlier one only in readout or reset_every: the index of that
  // arm, and the label of the difference. Models without recurrent states skip such arms.
  std::optional<size_t> base = {};
  std::string variation = {};
};

// Changes to the recurrent memory at inference that are measured in addition to the default.
struct Variations {
  std::vector<model::Readout> readouts;
  std::vector<int64_t> resets;  // values of Arm::reset_every
};
// Returns every arm, each followed by its variations.
std::vector<Arm> with_variations(const std::vector<Arm>& arms, const Variations& variations);
// ", readout off" or ", random readout"; empty for kOn.
std::string suffix_of(model::Readout readout);

// Sampling options that all models and arms share. Default: from the model folder.
struct Sampling {
  std::optional<int64_t> width, height;  // pixels
  std::optional<int64_t> steps;
  std::optional<std::string> solver;
  std::optional<double> guidance;
  // Seeds of the noise. Suites with several seeds report means over them.
  std::vector<uint64_t> seeds = {42};
  uint64_t seed() const { return seeds.front(); }
  at::ScalarType dtype = at::kFloat;
  bool captions = true;  // use the clip's caption as the prompt if the model has a text encoder
  // Folder for the latents of recordings; results do not depend on it.
  std::filesystem::path cache;
};

// "model", or "model, label" if there are several histories; followed by the variation.
std::string variant_name(const ModelChoice& model, const Arm& arm, const std::vector<Arm>& arms);

// A group per model with a variant per arm.
std::vector<VariantGroup> model_groups(const std::vector<ModelChoice>& models,
                                       const std::vector<Arm>& arms);

// The arm with every seed of `sampling`.
std::vector<Arm> with_seeds(const Arm& arm, const Sampling& sampling);

// Side of a token in pixels, the same for all models of a run. 0 if `sampling` sets the frame size
// or there is no model.
int64_t free_token(const std::vector<ModelChoice>& models, const Sampling& sampling);

// Adds a note about models that cannot use the captions of the clips because they have no text
// encoder, if there are any.
void add_caption_note(const std::vector<ModelChoice>& models, const Sampling& sampling,
                      const EvalClips& clips, std::vector<std::string>& notes);
// Logs the same as a warning.
void warn_of_captions(const std::vector<ModelChoice>& models, const Sampling& sampling,
                      const EvalClips& clips);

// Whether the model has recurrent states.
bool has_recurrent_states(const model::TransformerConfig& config);

sample::StreamOptions stream_options(const sample::ModelFolder& folder, const Arm& arm,
                                     const Sampling& sampling, int64_t width, int64_t height);

// The caption as a prompt. Without a text encoder or with sampling.captions = false the prompt is
// empty.
sample::Prompt prompt_for(const sample::ModelFolder& folder, const std::string& caption,
                          const Sampling& sampling);

// Hash that identifies the weights in a folder without reading them completely: names, sizes, and
// the first and last megabyte of every weight file.
std::string fingerprint(const std::filesystem::path& folder);

// Hash of the relative names and sizes of the pictures and videos in a folder of recordings. It
// does not depend on the location of the folder. Files in `out` are ignored.
std::string data_fingerprint(const std::filesystem::path& data, const std::filesystem::path& out);

// Adds the folders of videos to the settings of a run.
void describe_predictions(const std::vector<ModelChoice>& folders, Json& settings);

// The settings of a run, for the manifest.
Json describe(const std::vector<ModelChoice>& models, const std::vector<Arm>& arms,
              const Sampling& sampling);

}  // namespace loci::eval
