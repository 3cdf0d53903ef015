// SPDX-License-Identifier: Apache-2.0
// States that store the tokens of a recorded walk by the delta rule, without a network: keys are an
// encoding of the tokens' geometry with constant content, values are the tokens' pictures.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/eval/analysis/state_encodings.h"

namespace loci::eval {

// Several states with different contents and frequencies, read together: a readout is the mean
// value of the written tokens plus the states' readouts, weighted by one number per state.
class StateBank {
 public:
  // All tokens are written with the strength `beta`; nothing is forgotten. `mean` [V] is the mean
  // value of the tokens, V at most 84.
  StateBank(const StateEncoding& encoding, int64_t states, double beta, at::Tensor mean);

  // Tokens of consecutive frames in order, with values [N, V].
  void write(const EncodedTokens& tokens, const at::Tensor& values);
  // Adds tokens to the least-squares problem from which fit() computes the weights of the states.
  // Call it after the last write.
  void add_to_fit(const EncodedTokens& tokens, const at::Tensor& values);
  void fit();
  // [N, V]
  at::Tensor read(const EncodedTokens& tokens) const;

 private:
  // Readouts of the states, [N, states, V].
  at::Tensor readouts(const EncodedTokens& tokens) const;

  bool encoded_values_;
  double beta_;
  at::Tensor mean_;
  at::Tensor state_;                // [1, states, 128, V or 128]
  at::Tensor products_, projected_;  // [states, states] and [states], FP64
  at::Tensor weights_;               // [states]
};

// One state of Fourier features of the rays, cosine and sine of every phase, fitted to all tokens
// at once by least squares: what a state of this size could store at best.
class FeatureFit {
 public:
  // `encoding` has a ray encoding; the number of features is 2 * states * pairs.
  FeatureFit(const StateEncoding& encoding, int64_t states, at::Tensor mean);

  void add(const camera::FrameGeometry& geometry, const at::Tensor& values);
  void fit();
  at::Tensor read(const camera::FrameGeometry& geometry) const;

 private:
  at::Tensor features(const camera::FrameGeometry& geometry) const;  // [N, features], FP64

  at::Tensor frequencies_, mean_;
  at::Tensor products_, projected_, weights_;
};

}  // namespace loci::eval
