// SPDX-License-Identifier: Apache-2.0
// What decides a stream beside its model, poses and text; and the same as JSON, for worlds and for
// the record of a run.
#pragma once

#include <cstdint>
#include <string>

#include "loci/base/config.h"
#include "loci/memory/history/history_policy.h"
#include "loci/model/transformer/forward_context.h"
#include "loci/model/autoencoder/vae_tiles.h"
#include "loci/sample/stream/model_stream.h"
#include "loci/sample/solvers/solver.h"

namespace loci::sample {

struct StreamOptions {
  int64_t latent_height = 0, latent_width = 0;
  memory::HistoryOptions history;  // its aspect is that of the latents
  KvOptions kv;
  SolverOptions solver;
  // 1 = the prompt alone, with one stream of state; otherwise a second stream follows the negative
  // prompt, and v = v_negative + guidance (v_prompt - v_negative).
  double guidance = 1;
  uint64_t seed = 42;
  // Noise level at which chunks are committed under a bounded history; others and the first frame
  // are committed clean.
  double commit_level = 0.1;
  // How frames are cut where the autoencoder's memory would be too much; whole by default.
  model::VaeTiling tiling;

  // Bad input where a value is out of its range.
  void check() const;
  Json to_json() const;
  static StreamOptions from_json(const Json& json, const std::string& where);
};

// Seeds are text in JSON: many readers of it round whole numbers above 2^53.
uint64_t parse_seed(const std::string& text, const std::string& where);

// "on", "off", "random".
const std::vector<std::string>& readout_names();
model::Readout parse_readout(const std::string& name);
std::string_view name_of(model::Readout readout);

}  // namespace loci::sample
