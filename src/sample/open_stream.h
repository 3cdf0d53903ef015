// SPDX-License-Identifier: Apache-2.0
// Opens streams of a model folder. Options come from its generation.json; callers override single
// values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "loci/base/pixel_size.h"
#include "loci/sample/model_folder.h"
#include "loci/sample/stream/stream.h"

namespace loci::sample {

// A value that is not set follows the model folder.
struct StreamOverrides {
  std::optional<PixelSize> size = {};
  std::optional<std::string> history = {};  // name of a history policy
  // Maximum number of retained frames that a chunk attends to.
  std::optional<int64_t> history_frames = {};
  // Maximum number of frames kept for retrieval; 0 = all.
  std::optional<int64_t> archive = {};
  std::optional<std::string> kv = {};  // storage format of keys and values
  // Maximum size of keys and values that are converted in advance; 0 = no limit.
  std::optional<int64_t> staging_bytes = {};
  std::optional<std::string> solver = {};
  std::optional<int64_t> steps = {};  // denoising steps
  std::optional<double> shift = {};
  std::optional<double> guidance = {};
  std::optional<double> commit_level = {};
  std::optional<uint64_t> seed = {};
  std::optional<int64_t> tile = {};  // side of the autoencoder's tiles in pixels; 0 = whole frames

  // `solver` with the solver, steps and shift that are set here.
  SolverOptions apply(SolverOptions solver) const;
};

// Bad input if the size does not divide into tokens. Loads no weights.
StreamOptions stream_options(const ModelFolder& folder, const StreamOverrides& overrides = {});

// Loads the weights. The folder must outlive the stream.
Stream open_stream(const ModelFolder& folder, const StreamOverrides& overrides,
                   const Prompt& prompt);
// With an empty prompt.
Stream open_stream(const ModelFolder& folder, const StreamOverrides& overrides = {});

}  // namespace loci::sample
