// SPDX-License-Identifier: Apache-2.0
// Options of a stream, and their JSON form for world files and records of runs.
#pragma once

#include <cstdint>
#include <string>

#include "loci/base/config.h"
#include "loci/memory/history/history_registry.h"
#include "loci/model/autoencoder/vae_tiles.h"
#include "loci/model/transformer/forward_context.h"
#include "loci/sample/solvers/solver.h"
#include "loci/sample/stream/cached_transformer.h"

namespace loci::sample {

struct StreamOptions {
  int64_t latent_height = 0, latent_width = 0;
  memory::HistoryOptions history;  // Stream sets its aspect from the latent size
  KvOptions kv;
  SolverOptions solver;
  // Scale of classifier-free guidance. 1 = none. Otherwise a second set of states and keys follows
  // the negative prompt, and v = v_negative + guidance (v_prompt - v_negative).
  double guidance = 1;
  uint64_t seed = 42;
  // Noise level of the commit pass with a bounded history. With a dense history, and for the first
  // frame, the level is 0.
  double commit_level = 0.1;
  // Tiles of the autoencoder, to bound its memory. By default frames are processed whole.
  model::VaeTiling tiling;

  // Throws bad input if a value is out of range.
  void check() const;
  Json to_json() const;
  static StreamOptions from_json(const Json& json, const std::string& where);
};

// Parses a seed from JSON. Seeds are strings there, since many readers round integers above 2^53.
uint64_t parse_seed(const std::string& text, const std::string& where);

// "on", "off", "random".
const std::vector<std::string>& readout_names();
model::Readout parse_readout(const std::string& name);
std::string_view name_of(model::Readout readout);

}  // namespace loci::sample
