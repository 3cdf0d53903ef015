// SPDX-License-Identifier: Apache-2.0
// Checkpoints of a training run. A checkpoint folder appears complete or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "loci/base/config.h"
#include "loci/base/file_lock.h"
#include "loci/io/tensors/safetensors.h"
#include "loci/train/loop/run_definition.h"

namespace loci::train {

// The state of a run after `update` updates.
struct TrainingState {
  int64_t update = 0;
  io::NamedTensors model, ema, optimizer;
  io::NamedTensors task;  // TrainingTask::task_state(); in a file of its own, unless empty
  Json config;
  RunDefinition definition;
};

// A checkpoint on disk. Tensors are read from its files one by one.
struct SavedState {
  std::filesystem::path folder;
  int64_t update = 0;
  io::SafetensorsFile model, ema, optimizer;
  std::optional<io::SafetensorsFile> task;
  Json config;
  std::optional<RunDefinition> definition;  // none in checkpoints of earlier versions
};

class RunFolder {
 public:
  // Creates the folder if it does not exist.
  explicit RunFolder(std::filesystem::path folder);

  // Protects the folder against other training processes while this object exists. A second one
  // gets a bad-input error that names the first one.
  void lock();

  // Writes checkpoint-<update> with checksums of its files, and removes all checkpoints but the
  // newest `keep`. If the state contains NaN or infinite values, save() throws a failed check and
  // changes nothing.
  void save(const TrainingState& state, int64_t keep) const;

  // The update of the newest checkpoint, which may be damaged; none if there is no checkpoint.
  std::optional<int64_t> newest() const;
  // Reads all files of the newest checkpoints and returns the update of the newest one that is
  // intact; none if there is no checkpoint. A warning names each damaged one. With `set_aside`,
  // which needs the lock, they are renamed to <name>.damaged and are no checkpoints any more. If
  // all checkpoints are damaged, they stay as they are, and this is bad input.
  std::optional<int64_t> find_intact(bool set_aside) const;
  SavedState open(int64_t update) const;

  const std::filesystem::path& path() const { return folder_; }

 private:
  std::filesystem::path folder_;
  FileLock lock_;
};

}  // namespace loci::train
