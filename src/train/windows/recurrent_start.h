// SPDX-License-Identifier: Apache-2.0
// A start for the states of a trained backbone, measured on its data. What all keys share does not
// matter to softmax, and a trained backbone's keys share nearly everything: as keys of a state,
// which tells associations apart by their directions, they would be one.
#pragma once

#include "loci/base/config.h"
#include "loci/model/transformer/transformer.h"
#include "loci/train/windows/captions.h"
#include "loci/train/windows/history_access.h"
#include "loci/train/windows/window.h"

namespace loci::train {

struct RecurrentStartConfig {
  // phi_q and phi_k begin as the inverse square root of the second moments of what they map, each
  // raised by this share of their mean: directions that vary little are not taken for signal. 0:
  // they begin as the identity.
  double whiten = 0;
  // β begins near this where a clean frame is written; 0: near 1.
  double write = 0;

  bool asked() const { return whiten > 0 || write > 0; }
  static RecurrentStartConfig from(const ConfigReader& reader);
};

// Sets phi_q, phi_k and b_proj of every hybrid block, from a few windows of `frames` latents.
void start_recurrent(const RecurrentStartConfig& config, const model::Transformer& transformer,
                     const CaptionEncoder& captions, const WindowSource& source, int64_t frames,
                     const HistoryAccessConfig& history, uint64_t seed);

// M^-1/2 of the second moments M [H, 128, 128], each raised by `share` of M's mean eigenvalue; as
// long as the identity.
at::Tensor whitening(const at::Tensor& moments, double share);

}  // namespace loci::train
