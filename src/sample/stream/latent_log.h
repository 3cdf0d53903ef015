// SPDX-License-Identifier: Apache-2.0
// The latents of a run on disk as they come, so that a crash loses the chunk in work at most.
#pragma once

#include <filesystem>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"

namespace loci::sample {

// A folder with run.json, what the run was asked for, and 00000.safetensors, 00001.safetensors, …,
// one tensor "latents" [1, C, F, h, w] each. It appears with the first of them: a run that fails
// before leaves no trace, and the latents of an earlier run as they are.
class LatentLog {
 public:
  // A new run, or with `resume` the rest of one. Bad input: an unfinished run in the folder without
  // `resume`, an absent or differently asked one with it, and files that are not of such a run.
  LatentLog(std::filesystem::path folder, const Json& run, bool resume);

  // Chunks that are there.
  int64_t size() const { return size_; }
  at::Tensor read(int64_t index) const;
  void add(const at::Tensor& latents);
  // Says that the run is complete: the next one may replace it.
  void finish();

 private:
  void begin();
  std::filesystem::path file(int64_t index) const;
  void write_run(bool finished) const;

  std::filesystem::path folder_;
  Json run_;
  int64_t size_ = 0;
  bool begun_ = false;  // the folder is this run's
};

}  // namespace loci::sample
