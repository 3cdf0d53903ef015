// SPDX-License-Identifier: Apache-2.0
#include "loci/model/transformer/block.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "loci/kernels/elementwise/residual_norm.h"
#include "loci/model/transformer/window_attention.h"

namespace loci::model {

AttentionProjections::AttentionProjections(const Scope& scope, const TransformerConfig& config)
    : query(Linear::large(scope["to_q"], config.width(), config.width(), config.quantization)),
      key(Linear::large(scope["to_k"], config.width(), config.width(), config.quantization)),
      value(Linear::large(scope["to_v"], config.width(), config.width(), config.quantization)),
      out(Linear::large(scope["to_out"][0], config.width(), config.width(), config.quantization)),
      query_norm(scope["norm_q"], config.width(), config.eps),
      key_norm(scope["norm_k"], config.width(), config.eps),
      heads(config.heads) {}

void AttentionProjections::visit_large(const std::function<void(Linear&)>& visit) {
  for (Linear* linear : {&query, &key, &value, &out}) visit(*linear);
}

at::Tensor AttentionProjections::queries(const at::Tensor& x) const {
  return query_norm(query(x)).unflatten(-1, {heads, kHeadChannels});
}
at::Tensor AttentionProjections::keys(const at::Tensor& x) const {
  return key_norm(key(x)).unflatten(-1, {heads, kHeadChannels});
}
at::Tensor AttentionProjections::values(const at::Tensor& x) const {
  return value(x).unflatten(-1, {heads, kHeadChannels});
}
kernels::NormedHeads AttentionProjections::queries(const at::Tensor& x, const kernels::HeadMap& map,
                                                   bool both) const {
  return query_norm(query(x), heads, map, both);
}
kernels::NormedHeads AttentionProjections::keys(const at::Tensor& x, const kernels::HeadMap& map,
                                                bool both) const {
  return key_norm(key(x), heads, map, both);
}

Block::Block(const Scope& scope, const TransformerConfig& config, int64_t layer,
             std::shared_ptr<const memory::RecurrentMemory> memory)
    : layer_(layer),
      eps_(config.eps),
      raw_keys_(config.stores_raw_keys()),
      first_value_scale_(config.first_value_scale),
      self_(scope["attn1"], config),
      cross_(scope["attn2"], config),
      camera_(config.camera_branch == CameraBranchKind::kRays
                  ? std::optional<CameraBranch>(std::in_place, scope["camera_attn"], config)
                  : std::nullopt),
      projection_(config.camera_branch == CameraBranchKind::kProjection
                      ? std::optional<ProjectionBranch>(std::in_place,
                                                        scope["attn1"]["to_out_prope"][0], config)
                      : std::nullopt),
      cross_norm_(scope["norm2"], config.width(), config.eps),
      ffn_in_(Linear::large(scope["ffn"]["net"][0]["proj"], config.width(), config.ffn_dim,
                            config.quantization)),
      ffn_out_(Linear::large(scope["ffn"]["net"][2], config.ffn_dim, config.width(),
                             config.quantization)),
      table_(scope.parameter("scale_shift_table", {1, 6, config.width()},
                             init::normal(1 / std::sqrt(static_cast<double>(config.width()))))) {
  if (memory == nullptr) return;
  const int64_t number = std::ranges::count_if(config.hybrid_layers,
                                               [layer](int64_t hybrid) { return hybrid < layer; });
  recurrent_.emplace(scope["kda"], config, number, std::move(memory));
}

void Block::visit_large(const std::function<void(Linear&)>& visit) {
  self_.visit_large(visit);
  cross_.visit_large(visit);
  if (camera_) camera_->visit_large(visit);
  if (projection_) projection_->visit_large(visit);
  visit(ffn_in_);
  visit(ffn_out_);
}

at::Tensor Block::self_attention(const at::Tensor& h, const PassPlan& plan,
                                 const Observers& observers, at::Tensor& state) const {
  const bool probed = observers.probe != nullptr && observers.probe->layer == layer_;
  const bool both = recurrent_.has_value() || projection_ || probed;
  const TokenMaps& maps = *plan.maps;
  const ProjectedMaps* projected = maps.projected ? &*maps.projected : nullptr;
  const auto [query, mapped_query] =
      self_.queries(h, projected ? projected->query : maps.rotary, both);
  const bool store_raw = raw_keys_ && plan.store != nullptr;
  const auto [key, mapped_key] =
      self_.keys(h, projected ? projected->key : maps.rotary, both || store_raw);
  const at::Tensor value = self_.values(h);
  if (probed) {
    const auto frame_means = [&](const at::Tensor& x) {
      return x.to(at::kFloat).unflatten(1, {plan.maps->frames, -1}).mean(2);
    };
    observers.probe->key = frame_means(key);
    observers.probe->query = frame_means(query);
  }
  at::Tensor attended;
  if (recurrent_) {
    const at::Tensor local =
        window_attention(mapped_query, mapped_key, value, plan.local_spans, nullptr);
    attended = (*recurrent_)(h, query, key, value, local, layer_, plan, observers, state);
  } else {
    const at::Tensor mapped_value = projected ? kernels::head_map(value, projected->value) : value;
    if (plan.store != nullptr) {
      plan.store->put(layer_, memory::Branch::kMain, plan.store_first, store_raw ? key : mapped_key,
                      stored_values(mapped_value, plan));
    }
    const auto past = plan.past_entry(layer_, memory::Branch::kMain);
    if (observers.on_attention) {
      observers.on_attention(layer_, mapped_query, mapped_key, past.get());
    }
    if (plan.fixed != nullptr) {
      const FixedKeys::Entry& fixed = plan.fixed->layers[static_cast<size_t>(layer_)];
      attended =
          window_attention(mapped_query, at::cat({mapped_key, fixed.key}, 1),
                           at::cat({mapped_value, fixed.value}, 1), plan.main_spans, past.get());
    } else {
      attended =
          window_attention(mapped_query, mapped_key, mapped_value, plan.main_spans, past.get());
    }
    if (projected) attended = kernels::head_map(attended, projected->output);
  }
  const at::Tensor out = self_.out(attended.flatten(-2));
  if (camera_) return (*camera_)(h, layer_, plan, {.addend = out});
  if (!projection_) return out;
  return (*projection_)(query, key, value, stored_values(value, plan), layer_, plan,
                        {.addend = out});
}

at::Tensor Block::stored_values(const at::Tensor& value, const PassPlan& plan) const {
  if (first_value_scale_ == 1 || plan.store == nullptr || plan.store_first > 0) return value;
  const int64_t tokens = plan.maps->grid.tokens();
  return at::cat({value.narrow(1, 0, tokens) * first_value_scale_,
                  value.narrow(1, tokens, value.size(1) - tokens)},
                 1);
}

at::Tensor Block::cross_attention(const at::Tensor& x, const TextKeys::Entry& text) const {
  return cross_.out(kernels::attention(cross_.queries(x), text.key, text.value).flatten(-2));
}

FixedKeys::Entry Block::fixed_keys(const at::Tensor& x, const at::Tensor& modulation,
                                   const kernels::HeadMap& key_map,
                                   const kernels::HeadMap& value_map,
                                   at::ScalarType compute) const {
  const std::vector<at::Tensor> m = (table_.to(x.scalar_type()) + modulation).split(1, 2);
  const at::Tensor h =
      kernels::affine_norm(x, {.scale = m[1], .shift = m[0], .eps = eps_, .dtype = compute});
  return {self_.keys(h, key_map, false).mapped, kernels::head_map(self_.values(h), value_map)};
}

TextKeys::Entry Block::text_keys(const at::Tensor& text) const {
  return {cross_.keys(text), cross_.values(text)};
}

at::Tensor Block::operator()(const at::Tensor& x, const at::Tensor& modulation,
                             const PassPlan& plan, const Observers& observers,
                             const TextKeys::Entry& text, at::Tensor& state) const {
  // Six tensors [B, F, 1, width].
  const std::vector<at::Tensor> m = (table_.to(x.scalar_type()) + modulation).split(1, 2);
  const kernels::NormAffine before_self{
      .scale = m[1], .shift = m[0], .eps = eps_, .dtype = plan.compute};
  const kernels::NormAffine before_cross{.scale = cross_norm_.weight,
                                         .shift = cross_norm_.bias,
                                         .base = 0,
                                         .eps = cross_norm_.eps,
                                         .dtype = plan.compute};
  const kernels::NormAffine before_ffn{
      .scale = m[4], .shift = m[3], .eps = eps_, .dtype = plan.compute};
  const at::Tensor h = kernels::affine_norm(x, before_self);
  const at::Tensor attended = self_attention(h, plan, observers, state);
  const auto [with_self, c] = kernels::gated_add_norm(x, m[2], attended, before_cross);
  at::Tensor read = cross_attention(c, text);
  if (plan.text_mask.defined()) read = read * plan.text_mask;
  const auto [with_cross, g] = kernels::gated_add_norm(with_self, {}, read, before_ffn);
  return ffn_out_(ffn_in_(g, {.gelu = true}), {.residual = with_cross, .gate = m[5]});
}

}  // namespace loci::model
