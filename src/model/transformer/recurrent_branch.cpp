// SPDX-License-Identifier: Apache-2.0
#include "loci/model/transformer/recurrent_branch.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/random.h"
#include "loci/kernels/linear/wide_linear.h"

namespace loci::model {

namespace {

// Retention is learnt for pairs of adjacent channels.
constexpr int64_t kRetentionChannels = kHeadChannels / 2;
// Small enough that β starts near 1 and the gate near one half, large enough to break symmetry.
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

// x [B, N, H, 128] through one 128x128 matrix per head: multiplied in x's type, or in FP32 where
// that is faster, and given in FP32 (FP64 for FP64).
at::Tensor per_head(const at::Tensor& x, const at::Tensor& phi) {
  const int64_t heads = x.size(2);
  const at::ScalarType type = wide(x.scalar_type());
  const bool widen = !at::GradMode::is_enabled() && kernels::widening_pays(x, phi);
  const at::ScalarType product = widen ? type : x.scalar_type();
  const at::Tensor matrices =
      phi.to(product).view({heads, kHeadChannels, kHeadChannels}).transpose(1, 2);
  return at::matmul(x.to(product).transpose(1, 2), matrices).transpose(1, 2).to(type);
}

// Random directions, as long as the reads: drawn anew for every token and head, the same again for
// the same seed.
at::Tensor random_like(const at::Tensor& read, uint64_t seed) {
  const at::Tensor noise =
      at::randn(read.sizes(), at::make_generator<at::CPUGeneratorImpl>(seed), read.scalar_type())
          .to(read.device());
  return noise * (read.norm(2, -1, true) / noise.norm(2, -1, true).clamp_min(1e-12));
}

// Which tokens, and which rows of log retention, belong to chunks that are written.
struct WrittenRows {
  at::Tensor tokens;      // [N] bool
  at::Tensor retentions;  // [n] bool
};

// Log retentions are there for the first `written` chunks.
WrittenRows written_rows(const std::vector<ChunkSpan>& chunks, int64_t written,
                         const camera::TokenGrid& grid, const memory::RecurrentMemory& memory) {
  std::vector<at::Tensor> tokens, retentions;
  for (int64_t i = 0; i < std::ssize(chunks); ++i) {
    const ChunkSpan& chunk = chunks[static_cast<size_t>(i)];
    const int64_t count = (chunk.end - chunk.begin) * grid.tokens();
    tokens.push_back(at::full({count}, chunk.written, at::kBool));
    if (i == written) continue;
    retentions.push_back(at::full({memory.retention_rows(count, grid)}, chunk.written, at::kBool));
  }
  return {at::cat(tokens), at::cat(retentions)};
}

}  // namespace

RecurrentBranch::RecurrentBranch(const Scope& scope, const TransformerConfig& config,
                                 std::shared_ptr<const memory::RecurrentMemory> memory)
    : memory_(std::move(memory)),
      heads_(config.heads),
      min_log_retention_(std::log(config.kda_min_retention)),
      retention_(
          without_bias(scope["a_proj"], config.width(), heads_ * kRetentionChannels, init::zeros)),
      beta_(without_bias(scope["b_proj"], config.width(), heads_, init::normal(kGateDeviation))),
      gate_(without_bias(scope["gate_proj"], config.width(), heads_, init::normal(kGateDeviation))),
      phi_query_(scope["phi_q"].parameter("weight", {config.width(), kHeadChannels, 1},
                                          scaled_identity(1))),
      phi_key_(scope["phi_k"].parameter("weight", {config.width(), kHeadChannels, 1},
                                        scaled_identity(1))),
      phi_value_(scope["phi_v"].parameter("weight", {config.width(), kHeadChannels, 1},
                                          scaled_identity(config.kda_phi_v_start))),
      a_log_(scope.parameter("A_log", {heads_}, init::zeros)),
      // softplus⁻¹(y) = ln(e^y - 1) of y = -ln(retention).
      dt_bias_(scope.parameter(
          "dt_bias", {heads_ * kRetentionChannels},
          init::constant(std::log(std::expm1(-std::log(config.kda_start_retention)))))) {}

at::Tensor RecurrentBranch::log_retention(const at::Tensor& h, const std::vector<int64_t>& ends,
                                          int64_t written, int64_t tokens_per_frame) const {
  const at::ScalarType type = wide(h.scalar_type());
  std::vector<int64_t> sizes;
  int64_t begin = 0;
  for (const int64_t end : ends) {
    sizes.push_back(end - begin);
    begin = end;
  }
  // Split once, so that the gradient is put together once. The products are made chunk by chunk:
  // those of few rows depend on how many there are, and on the number of threads.
  std::vector<at::Tensor> parts = h.to(type).split_with_sizes(sizes, 1);
  parts.resize(static_cast<size_t>(written));
  for (at::Tensor& part : parts) {
    switch (memory_->grain()) {
      case memory::Grain::kChunk:
        part = part.mean(1, /*keepdim=*/true);
        break;
      case memory::Grain::kFrame:
        part = part.unflatten(1, {-1, tokens_per_frame}).mean(2);
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
                                       const at::Tensor& local, int64_t layer,
                                       const ForwardContext& context, at::Tensor& state) const {
  const TokenMaps& maps = *context.maps;
  const int64_t tokens = maps.grid.tokens();
  const at::ScalarType type = wide(h.scalar_type());
  const bool reads = context.readout != Readout::kOff;
  const bool writes = context.chunks.size() > 1 || context.write_states;
  at::Tensor q, k, v, beta;
  if (reads) q = kernels::unit_head_map(per_head(query, phi_query_), maps.recurrent_query);
  if (writes) {
    k = kernels::unit_head_map(per_head(key, phi_key_), maps.recurrent_key);
    v = kernels::head_map(per_head(value, phi_value_), maps.recurrent_value);
    beta = 2 * at::sigmoid(beta_(h).to(type));
  }
  if (context.on_recurrent) context.on_recurrent(layer, {h, query, key, k, beta});
  if (!state.defined()) {
    state = at::zeros(memory_->state_shape(h.size(0), heads_, kHeadChannels, maps.grid),
                      h.options().dtype(type));
  }
  at::Tensor read;
  if (writes) {
    memory::ChunkSequence chunks{.write_last = context.write_states};
    for (const ChunkSpan& chunk : context.chunks) chunks.ends.push_back(chunk.end * tokens);
    const int64_t written = std::ssize(chunks.ends) - (chunks.write_last ? 0 : 1);
    at::Tensor retention = log_retention(h, chunks.ends, written, tokens);
    if (context.on_retention) context.on_retention(layer, retention);
    const auto is_written = [](const ChunkSpan& chunk) { return chunk.written; };
    if (!std::ranges::all_of(context.chunks, is_written)) {
      // What is written with no weight and makes nothing fade leaves the state as it is.
      const WrittenRows rows = written_rows(context.chunks, written, maps.grid, *memory_);
      beta = beta * rows.tokens.to(beta.options()).view({1, -1, 1});
      retention = retention * rows.retentions.to(retention.options()).view({1, -1, 1, 1});
    }
    chunks.query = q;
    chunks.write = {k, v, beta, retention};
    read = memory_->run(state, chunks, maps.grid);
  } else if (reads) {
    read = memory_->read(state, q, maps.grid);
  }
  if (!reads) return local;
  const at::Tensor gate = at::sigmoid(gate_(h).to(type));
  if (context.readout != Readout::kRandom) {
    return kernels::add_gated_head_map(local, gate, read, maps.recurrent_output);
  }
  read = random_like(kernels::head_map(read, maps.recurrent_output),
                     hash_keys({context.readout_seed, static_cast<uint64_t>(layer)}));
  return (local + gate.unsqueeze(-1) * read).to(local.scalar_type());
}

}  // namespace loci::model
