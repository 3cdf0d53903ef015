// SPDX-License-Identifier: Apache-2.0
// Checkpoints of a training run. A checkpoint folder appears complete or not at all.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "loci/base/config.h"
#include "loci/io/tensors/safetensors.h"

namespace loci::train {

// The state of a run after `update` updates.
struct TrainingState {
  int64_t update = 0;
  io::NamedTensors model, ema, optimizer;
  Json config;
};

std::map<std::string, at::Tensor> by_name(const io::NamedTensors& tensors);

class RunFolder {
 public:
  // Creates the folder if it does not exist.
  explicit RunFolder(std::filesystem::path folder);

  // Writes checkpoint-<update> and removes all checkpoints but the newest `keep`. If the state
  // contains NaN or infinite values, save() throws a failed check and changes nothing.
  void save(const TrainingState& state, int64_t keep) const;
  // The newest checkpoint. Its tensors are memory-mapped from the files.
  std::optional<TrainingState> load_newest() const;

  const std::filesystem::path& path() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

}  // namespace loci::train
