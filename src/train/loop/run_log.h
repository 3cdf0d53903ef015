// SPDX-License-Identifier: Apache-2.0
// The log of a training run: metrics.jsonl, event files for TensorBoard, and pictures. Only the
// leader writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"
#include "loci/train/loop/event_log.h"

namespace loci::train {

class RunLog {
 public:
  // `folder` must exist when the first entry is written.
  explicit RunLog(std::filesystem::path folder);

  // Appends {"update": update, …} as a line to metrics.jsonl and writes the numbers as scalars to
  // the event file.
  void metrics(int64_t update, Json values);
  // Writes <name>-<update>.png and the same picture, uint8 [H, W, 3], to the event file.
  void picture(const std::string& name, int64_t update, const at::Tensor& picture);

  // Flushes metrics.jsonl to disk.
  void flush() const;

  // Removes the lines of metrics.jsonl after update `updates_done`, which a resumed run repeats.
  void truncate(int64_t updates_done) const;

 private:
  std::filesystem::path folder_;
  EventLog events_;
};

}  // namespace loci::train
