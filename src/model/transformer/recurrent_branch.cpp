// SPDX-License-Identifier: Apache-2.0
#include "loci/model/transformer/recurrent_branch.h"

#include <cmath>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/random.h"
#include "loci/kernels/linear/wide_linear.h"

namespace loci::model {

namespace {

// Two adjacent channels share one learned retention.
constexpr int64_t kRetentionChannels = kHeadChannels / 2;
// Small enough that β starts near kda_start_beta and the gate near one half, large enough to break
// symmetry.
constexpr double kGateDeviation = 0.02;

Initialiser scaled_identity(double scale) {
  return [scale](at::Tensor& parameter, at::Generator&) {  // [H*128, 128, 1]
    const int64_t heads = parameter.size(0) / kHeadChannels;
    parameter.copy_((scale * at::eye(kHeadChannels)).repeat({heads, 1}).unsqueeze(-1));
  };
}

Linear without_bias(const Scope& scope, int64_t in, int64_t out, const Initialiser& start) {
  Linear linear;
  linear.weight = scope.parameter("weight", {out, in}, start);
  return linear;
}

// x [B, N, H, 128] times one 128x128 matrix per recurrent head, computed in x's type, or in FP32
// where that is faster. Returned in FP32 (FP64 for FP64). Consecutive recurrent heads share an
// attention head.
at::Tensor per_head(at::Tensor x, const at::Tensor& phi) {
  const int64_t heads = phi.size(0) / kHeadChannels;
  if (heads != x.size(2)) x = x.repeat_interleave(heads / x.size(2), 2);
  const at::ScalarType type = wide(x.scalar_type());
  const bool widen = !at::GradMode::is_enabled() && kernels::widening_pays(x, phi);
  const at::ScalarType product = widen ? type : x.scalar_type();
  const at::Tensor matrices =
      phi.to(product).view({heads, kHeadChannels, kHeadChannels}).transpose(1, 2);
  return at::matmul(x.to(product).transpose(1, 2), matrices).transpose(1, 2).to(type);
}

// Random directions with the lengths of the readouts, per token and head, determined by the seed.
at::Tensor random_like(const at::Tensor& read, uint64_t seed) {
  const at::Tensor noise =
      at::randn(read.sizes(), at::make_generator<at::CPUGeneratorImpl>(seed), read.scalar_type())
          .to(read.device());
  return noise * (read.norm(2, -1, true) / noise.norm(2, -1, true).clamp_min(1e-12));
}

}  // namespace

RecurrentBranch::RecurrentBranch(const Scope& scope, const TransformerConfig& config, int64_t block,
                                 std::shared_ptr<const memory::RecurrentMemory> memory)
    : memory_(std::move(memory)),
      block_(block),
      heads_(config.recurrent_heads()),
      min_log_retention_(std::log(config.kda_min_retention)),
      beta_offset_(config.beta_offset()),
      retention_(
          without_bias(scope["a_proj"], config.width(), heads_ * kRetentionChannels, init::zeros)),
      beta_(without_bias(scope["b_proj"], config.width(), heads_, init::normal(kGateDeviation))),
      gate_(without_bias(scope["gate_proj"], config.width(), heads_, init::normal(kGateDeviation))),
      phi_query_(scope["phi_q"].parameter("weight", {heads_ * kHeadChannels, kHeadChannels, 1},
                                          scaled_identity(1))),
      phi_key_(scope["phi_k"].parameter("weight", {heads_ * kHeadChannels, kHeadChannels, 1},
                                        scaled_identity(1))),
      phi_value_(scope["phi_v"].parameter("weight", {heads_ * kHeadChannels, kHeadChannels, 1},
                                          scaled_identity(config.kda_phi_v_start))),
      a_log_(scope.parameter("A_log", {heads_}, init::zeros)),
      // softplus⁻¹(y) = ln(e^y - 1) of y = -ln(retention).
      dt_bias_(scope.parameter(
          "dt_bias", {heads_ * kRetentionChannels},
          init::constant(std::log(std::expm1(-std::log(config.kda_start_retention)))))) {}

at::Tensor RecurrentBranch::log_retention(const at::Tensor& h, const PassPlan& plan) const {
  const at::ScalarType type = wide(h.scalar_type());
  // One split for all chunks, so that autograd assembles the gradient once. The products are
  // computed chunk by chunk: the result of a product with few rows depends on their number and on
  // the number of threads.
  std::vector<at::Tensor> parts = h.to(type).split_with_sizes(plan.chunk_tokens, 1);
  parts.resize(static_cast<size_t>(plan.retention_chunks));
  for (at::Tensor& part : parts) {
    switch (memory_->grain()) {
      case memory::Grain::kChunk:
        part = part.mean(1, /*keepdim=*/true);
        break;
      case memory::Grain::kFrame:
        part = part.unflatten(1, {-1, plan.maps->grid.tokens()}).mean(2);
        break;
      case memory::Grain::kToken:
        break;
    }
    part = retention_(part);
  }
  const at::Tensor all = parts.size() == 1 ? parts.front() : at::cat(parts, 1);
  const at::Tensor rate =
      at::softplus(all + dt_bias_.to(type)).unflatten(-1, {heads_, kRetentionChannels});
  const at::Tensor log_retention = -a_log_.to(type).exp().unsqueeze(-1) * rate;
  return log_retention.clamp_min(min_log_retention_).repeat_interleave(2, -1);
}

at::Tensor RecurrentBranch::operator()(const at::Tensor& h, const at::Tensor& query,
                                       const at::Tensor& key, const at::Tensor& value,
                                       const at::Tensor& local, int64_t layer, const PassPlan& plan,
                                       const Observers& observers, at::Tensor& state) const {
  const camera::TokenGrid& grid = plan.maps->grid;
  const RecurrentMaps& maps = plan.maps->recurrent_of(block_);
  const at::ScalarType type = wide(h.scalar_type());
  const bool reads = plan.readout != Readout::kOff;
  at::Tensor q, k, v, beta;
  if (reads) q = kernels::unit_head_map(per_head(query, phi_query_), maps.query);
  if (plan.writes) {
    k = kernels::unit_head_map(per_head(key, phi_key_), maps.key);
    v = kernels::head_map(per_head(value, phi_value_), maps.value);
    const at::Tensor logit = beta_(h).to(type);
    beta = 2 * at::sigmoid(beta_offset_ == 0 ? logit : logit + beta_offset_);
  }
  if (observers.on_recurrent) observers.on_recurrent(layer, {h, query, key, k, beta});
  if (!state.defined()) {
    state = at::zeros(memory_->state_shape(h.size(0), heads_, kHeadChannels, grid),
                      h.options().dtype(type));
  }
  at::Tensor read;
  if (plan.writes) {
    at::Tensor retention = log_retention(h, plan);
    if (observers.on_retention) observers.on_retention(layer, retention);
    if (plan.beta_mask.defined()) {
      // A write with β = 0 and full retention leaves the state unchanged.
      beta = beta * plan.beta_mask;
      retention = retention * plan.retention_mask;
    }
    const memory::ChunkSequence chunks{.ends = plan.chunk_ends,
                                       .write_last = plan.write_last,
                                       .query = q,
                                       .write = {k, v, beta, retention}};
    read = memory_->run(state, chunks, grid);
  } else if (reads) {
    read = memory_->read(state, q, grid);
  }
  if (!reads) return local;
  const at::Tensor gate = at::sigmoid(gate_(h).to(type));
  const bool random = plan.readout == Readout::kRandom;
  if (!random && heads_ == local.size(2)) {
    return kernels::add_gated_head_map(local, gate, read, maps.output);
  }
  read = kernels::head_map(read, maps.output);
  if (random) {
    read = random_like(read, hash_keys({plan.readout_seed, static_cast<uint64_t>(layer)}));
  }
  read = gate.unsqueeze(-1) * read;
  if (heads_ != local.size(2)) read = read.unflatten(2, {local.size(2), -1}).sum(3);
  return (local + read).to(local.scalar_type());
}

}  // namespace loci::model
