// SPDX-License-Identifier: Apache-2.0
#include "loci/train/loop/loop_config.h"

#include <algorithm>

#include "loci/train/loop/compute_type.h"

namespace loci::train {

namespace {

constexpr int64_t kMaxUpdates = int64_t{1} << 40;

int64_t first_update(const ConfigReader& phase) {
  return phase.get<int64_t>("from", 0, 0, kMaxUpdates);
}

}  // namespace

std::vector<ConfigReader> phase_sections(const ConfigReader& reader) {
  std::vector<ConfigReader> sections = reader.sections("phases");
  std::ranges::stable_sort(sections, {}, first_update);
  return sections;
}

LoopConfig LoopConfig::from(const ConfigReader& reader, const LoopConfig& defaults) {
  LoopConfig c = defaults;
  c.updates = reader.get<int64_t>("updates", c.updates, 1, kMaxUpdates);
  c.batch = reader.get<int64_t>("batch", c.batch, 1, 1 << 20);
  c.seed = reader.get<uint64_t>("seed", c.seed);
  c.compute = read_compute(reader);
  c.ema = reader.get<double>("ema", c.ema, 0.0, 1.0);
  c.checkpoint_minutes = reader.get<double>("checkpoint_minutes", c.checkpoint_minutes, 0.0, 1e6);
  c.checkpoint_updates =
      reader.get<int64_t>("checkpoint_updates", c.checkpoint_updates, 0, kMaxUpdates);
  c.keep_checkpoints = reader.get<int64_t>("keep_checkpoints", c.keep_checkpoints, 1, 1 << 20);
  c.log_every = reader.get<int64_t>("log_every", c.log_every, 1, 1 << 20);
  c.validation_every =
      reader.section("validation").get<int64_t>("every", c.validation_every, 1, kMaxUpdates);
  OptimizerConfig optimizer = c.optimizer;
  if (optimizer.decay_updates == 0) optimizer.decay_updates = c.updates;
  c.optimizer = OptimizerConfig::from(reader.section("optimizer"), optimizer);
  for (const ConfigReader& phase : phase_sections(reader)) {
    c.phases.push_back(
        {.from = first_update(phase), .batch = phase.get<int64_t>("batch", c.batch, 1, 1 << 20)});
  }
  if (c.phases.empty()) {
    fail("{}: phases is empty; list at least one phase with its data", reader.where());
  }
  if (c.phases.front().from != 0) {
    fail("{}: the first phase begins at update {}; one phase must have \"from\": 0", reader.where(),
         c.phases.front().from);
  }
  return c;
}

size_t LoopConfig::phase(int64_t update) const {
  size_t current = 0;
  for (size_t i = 1; i < phases.size(); ++i) {
    if (phases[i].from <= update) current = i;
  }
  return current;
}

uint64_t LoopConfig::first_sample(int64_t update) const {
  uint64_t samples = 0;
  for (size_t i = 0; i < phases.size(); ++i) {
    const int64_t end = i + 1 < phases.size() ? std::min(update, phases[i + 1].from) : update;
    if (end <= phases[i].from) continue;
    samples += static_cast<uint64_t>(end - phases[i].from) * static_cast<uint64_t>(phases[i].batch);
  }
  return samples;
}

}  // namespace loci::train
