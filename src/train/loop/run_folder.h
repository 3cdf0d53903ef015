// SPDX-License-Identifier: Apache-2.0
// The folder of a training run: checkpoints that appear whole, the newest few kept, and the log.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "loci/base/config.h"
#include "loci/io/tensors/safetensors.h"

namespace loci::train {

// All of a run at one moment.
struct TrainingState {
  int64_t update = 0;  // updates done
  io::NamedTensors model, ema, optimizer;
  Json config;
};

std::map<std::string, at::Tensor> by_name(const io::NamedTensors& tensors);

class RunFolder {
 public:
  // Made if absent.
  explicit RunFolder(std::filesystem::path folder);

  // Writes checkpoint-<update> and removes all but the newest `keep`. A state with numbers that are
  // not finite fails the check and changes nothing.
  void save(const TrainingState& state, int64_t keep) const;
  // The newest complete checkpoint. Tensors are mapped from its files.
  std::optional<TrainingState> load_newest() const;

  // Appends one object as a line to metrics.jsonl.
  void log(const Json& metrics) const;
  // Drops lines of updates that a resumed run will do again.
  void truncate_log(int64_t updates_done) const;

  const std::filesystem::path& path() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

}  // namespace loci::train
