// SPDX-License-Identifier: Apache-2.0
// Initialises the recurrent states of a trained backbone from measurements on its data. Softmax is
// insensitive to a component that all keys share, and the keys of a trained backbone share nearly
// everything. A recurrent state distinguishes associations by the directions of their keys, so with
// such keys it would hold only one.
#pragma once

#include "loci/base/config.h"
#include "loci/model/transformer/transformer.h"
#include "loci/train/data/captions.h"
#include "loci/train/data/window.h"
#include "loci/train/windows/visible_history.h"

namespace loci::train {

struct RecurrentStartConfig {
  // Initialises phi_q and phi_k as the inverse square root of the second moments of their inputs.
  // The eigenvalues are raised by this share of their mean, so that directions with little variance
  // are not amplified. 0: phi_q and phi_k are the identity.
  double whiten = 0;
  // Initial write strength β for clean frames; 0: near the model's kda_start_beta.
  double write = 0;

  bool enabled() const { return whiten > 0 || write > 0; }
  static RecurrentStartConfig from(const ConfigReader& reader);
};

// Sets phi_q, phi_k and b_proj of every hybrid block, measured on a few windows of `frames`
// latents.
void start_recurrent(const RecurrentStartConfig& config, const model::Transformer& transformer,
                     const CaptionEncoder& captions, const WindowSource& source, int64_t frames,
                     const HistoryConfig& history, uint64_t seed);

// M^-1/2 of the second moments M [H, 128, 128], whose eigenvalues are raised by `share` of their
// mean. The result has the Frobenius norm of the identity.
at::Tensor whitening(const at::Tensor& moments, double share);

}  // namespace loci::train
