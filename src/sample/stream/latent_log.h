// SPDX-License-Identifier: Apache-2.0
// Writes the latents of a run to disk chunk by chunk, so that a crash loses at most the current
// chunk.
#pragma once

#include <filesystem>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"

namespace loci::sample {

// A folder with run.json (the inputs of the run) and 00000.safetensors, 00001.safetensors, …, each
// with one tensor "latents" [1, C, F, h, w]. It is created with the first chunk. A run that fails
// earlier leaves the folder of an earlier run unchanged.
class LatentLog {
 public:
  // Starts a run, or with `resume` continues one. Bad input: an unfinished run without `resume`; a
  // missing run or one with other inputs with `resume`; a folder with other files.
  LatentLog(std::filesystem::path folder, const Json& run, bool resume);

  // Number of stored chunks.
  int64_t size() const { return size_; }
  at::Tensor read(int64_t index) const;
  void add(const at::Tensor& latents);
  // Marks the run as finished, so that the next run may replace it.
  void finish();

 private:
  void begin();
  std::filesystem::path file(int64_t index) const;
  void write_run(bool finished) const;

  std::filesystem::path folder_;
  Json run_;
  int64_t size_ = 0;
  bool begun_ = false;  // whether the folder belongs to this run
};

}  // namespace loci::sample
