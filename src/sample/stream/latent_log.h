// SPDX-License-Identifier: Apache-2.0
// Writes the latents of a run to disk chunk by chunk, so that a crash loses at most the current
// chunk.
#pragma once

#include <filesystem>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"
#include "loci/base/file_lock.h"

namespace loci::sample {

// A folder with run.json (the inputs of the run) and 00000.safetensors, 00001.safetensors, …, each
// with one tensor "latents" [1, C, F, h, w]. A run that fails before its first chunk leaves the
// folder of an earlier run unchanged, and removes a folder that it has created. The folder is
// locked while this object exists.
class LatentLog {
 public:
  // Starts a run, or with `resume` continues one. Bad input: a run in another process; an
  // unfinished run without `resume`; a missing run with `resume`; a folder with other files.
  LatentLog(std::filesystem::path folder, bool resume);
  ~LatentLog();
  LatentLog(const LatentLog&) = delete;
  LatentLog& operator=(const LatentLog&) = delete;

  // Sets the inputs of the run. Must be called before the functions below. Other inputs than those
  // of the run to continue are bad input.
  void set_run(const Json& run);

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
  FileLock lock_;
  bool new_folder_ = false, new_lock_ = false;  // created by this object
  bool resume_ = false;
  Json run_;
  int64_t size_ = 0;
  bool begun_ = false;  // whether the folder belongs to this run
};

}  // namespace loci::sample
