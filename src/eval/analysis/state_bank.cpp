// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/analysis/state_bank.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/kernels/delta_rule/delta_rule.h"

namespace loci::eval {

namespace {

// First channel of encoded values: the first that a ray encoding of 84 channels rotates.
constexpr int64_t kFirstValue = 44;
// Added to the diagonal of the normal equations, relative to their mean diagonal.
constexpr double kStateRidge = 1e-6, kFeatureRidge = 1e-3;

// Solves (A + ridge) x = b for symmetric A.
at::Tensor solve(const at::Tensor& a, const at::Tensor& b, double ridge) {
  const double added = ridge * a.diagonal().mean().item<double>() + 1e-12;
  const at::Tensor matrix = a + added * at::eye(a.size(0), a.options());
  return at::linalg_solve(matrix, b);
}

}  // namespace

StateBank::StateBank(const StateEncoding& encoding, int64_t states, double beta, at::Tensor mean)
    : encoded_values_(encoding.mapping.encoding == memory::KeyEncoding::kRay &&
                      encoding.mapping.ray.values),
      beta_(beta),
      mean_(std::move(mean)),
      products_(at::zeros({states, states}, at::kDouble)),
      projected_(at::zeros({states}, at::kDouble)) {
  const int64_t channels = model::kHeadChannels;
  LOCI_CHECK(mean_.numel() <= channels - kFirstValue, "{} numbers in a value, expected at most {}",
             mean_.numel(), channels - kFirstValue);
  state_ = at::zeros({1, states, channels, encoded_values_ ? channels : mean_.numel()});
}

void StateBank::write(const EncodedTokens& tokens, const at::Tensor& values) {
  const int64_t count = tokens.key.size(1), states = tokens.key.size(2);
  at::Tensor stored = (values - mean_).unsqueeze(1).expand({-1, states, -1}).unsqueeze(0);
  if (encoded_values_) {
    const int64_t rest = model::kHeadChannels - kFirstValue - mean_.numel();
    stored = kernels::head_map(at::constant_pad_nd(stored, {kFirstValue, rest}), tokens.maps.value);
  }
  state_ = kernels::delta_chunks(state_, {}, tokens.key, stored.contiguous(),
                                 at::full({1, count, states}, beta_), {}, {.ends = {count}}, 1)
               .state;
}

at::Tensor StateBank::readouts(const EncodedTokens& tokens) const {
  at::Tensor read = at::matmul(tokens.query.transpose(1, 2), state_).transpose(1, 2);
  if (encoded_values_) {
    read = kernels::head_map(read, tokens.maps.output).narrow(-1, kFirstValue, mean_.numel());
  }
  return read[0];
}

void StateBank::add_to_fit(const EncodedTokens& tokens, const at::Tensor& values) {
  const at::Tensor read = readouts(tokens).transpose(0, 1).flatten(1);  // [states, N V]
  products_ += at::matmul(read, read.t()).to(at::kDouble);
  projected_ += at::mv(read, (values - mean_).flatten()).to(at::kDouble);
}

void StateBank::fit() { weights_ = solve(products_, projected_, kStateRidge).to(at::kFloat); }

at::Tensor StateBank::read(const EncodedTokens& tokens) const {
  LOCI_CHECK(weights_.defined(), "the weights of the states are not fitted yet");
  return mean_ + (readouts(tokens) * weights_.unsqueeze(-1)).sum(1);
}

FeatureFit::FeatureFit(const StateEncoding& encoding, int64_t states, at::Tensor mean)
    : frequencies_(model::ray_frequencies(encoding.mapping.ray, /*block=*/0, states)),
      mean_(std::move(mean)) {
  const int64_t count = 2 * frequencies_.size(0) * frequencies_.size(1);
  products_ = at::zeros({count, count}, at::kDouble);
  projected_ = at::zeros({count, mean_.numel()}, at::kDouble);
}

at::Tensor FeatureFit::features(const camera::FrameGeometry& geometry) const {
  const at::Tensor phases = model::ray_phases(model::token_rays(geometry), frequencies_).flatten(1);
  return at::cat({phases.cos(), phases.sin()}, 1);
}

void FeatureFit::add(const camera::FrameGeometry& geometry, const at::Tensor& values) {
  const at::Tensor rows = features(geometry);
  products_ += at::matmul(rows.t(), rows);
  projected_ += at::matmul(rows.t(), (values - mean_).to(at::kDouble));
}

void FeatureFit::fit() { weights_ = solve(products_, projected_, kFeatureRidge); }

at::Tensor FeatureFit::read(const camera::FrameGeometry& geometry) const {
  LOCI_CHECK(weights_.defined(), "the features are not fitted yet");
  return mean_ + at::matmul(features(geometry), weights_).to(at::kFloat);
}

}  // namespace loci::eval
