// SPDX-License-Identifier: Apache-2.0
// The keys that the recipes of all training tasks have in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loci/base/config.h"
#include "loci/train/loop/optimizer.h"

namespace loci::train {

// The shared keys of one entry of "phases". A task reads its own keys from the same entry.
struct PhaseSpan {
  int64_t from = 0;   // first update of the phase, counted from 0
  int64_t batch = 1;  // samples per update, over all ranks
};

struct LoopConfig {
  int64_t updates = 5000;
  int64_t batch = 64;  // samples per update in phases that do not set their own
  uint64_t seed = 0;
  std::string compute = "auto";    // see compute_type.h
  double ema = 0.999;              // share of the EMA weights that an update keeps
  double checkpoint_minutes = 5;   // 0: a checkpoint after every update
  int64_t checkpoint_updates = 0;  // also a checkpoint every so many updates; 0: by minutes only
  int64_t keep_checkpoints = 2;    // the newest ones stay, older ones are removed
  int64_t log_every = 1;           // updates
  int64_t validation_every = 500;  // updates
  OptimizerConfig optimizer;
  std::vector<PhaseSpan> phases;  // by `from`; the first begins at update 0

  // Reads the shared keys. `defaults` holds the values of absent keys; optimizer.decay_updates = 0
  // there stands for the number of updates.
  static LoopConfig from(const ConfigReader& reader, const LoopConfig& defaults);

  // Index of the phase that contains an update.
  size_t phase(int64_t update) const;
  // Number of samples in all updates before `update`.
  uint64_t first_sample(int64_t update) const;
};

// The entries of "phases" in the order of LoopConfig::phases.
std::vector<ConfigReader> phase_sections(const ConfigReader& reader);

}  // namespace loci::train
