// SPDX-License-Identifier: Apache-2.0
#include "loci/model/transformer/transformer.h"

#include <cmath>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/kernels/elementwise/gelu.h"
#include "loci/kernels/elementwise/residual_norm.h"
#include "loci/kernels/linear/wide_linear.h"
#include "loci/kernels/machine/cpu_features.h"
#include "loci/memory/recurrent/recurrent_registry.h"
#include "loci/model/transformer/block_checkpoint.h"

namespace loci::model {

namespace {

// The velocity v = noise - clean from the network's output `out`, the scaled residual of the best
// linear prediction of v from the latents x = (1 - s) clean + s noise, with noise of deviation 1
// and clean of deviation a. With d = s² + (1 - s)² a² that prediction is (s - (1 - s) a²)/d x, and
// the residual has the variance a²/d.
at::Tensor add_linear_guess(const at::Tensor& out, const at::Tensor& latents,
                            const at::Tensor& timesteps, const std::vector<double>& deviations) {
  const at::Tensor s =
      (timesteps.to(out.scalar_type()) / 1000).view({timesteps.size(0), 1, -1, 1, 1});
  const at::Tensor a = at::tensor(deviations, out.options()).view({1, -1, 1, 1, 1});
  const at::Tensor d = s.square() + ((1 - s) * a).square();
  return (s - (1 - s) * a.square()) / d * latents + a / d.sqrt() * out;
}

}  // namespace

Transformer::Transformer(TransformerConfig config, std::shared_ptr<Parameters> parameters)
    : config_(std::move(config)),
      parameters_(std::move(parameters)),
      compute_(parameters_->options().dtype) {
  const Scope root(*parameters_);
  const int64_t width = config_.width();
  const int64_t patch_inputs = config_.channels * config_.patch * config_.patch;
  patch_weight_ = root["patch_embedding"].parameter(
      "weight", {width, config_.channels, 1, config_.patch, config_.patch},
      init::fan_in(patch_inputs));
  patch_bias_ = root["patch_embedding"].parameter("bias", {width}, init::zeros);
  const Scope condition = root["condition_embedder"];
  time_in_ = Linear(condition["time_embedder"]["linear_1"], config_.freq_dim, width);
  time_out_ = Linear(condition["time_embedder"]["linear_2"], width, width);
  time_proj_ = Linear(condition["time_proj"], width, 6 * width);
  text_in_ = Linear(condition["text_embedder"]["linear_1"], config_.text_dim, width);
  text_out_ = Linear(condition["text_embedder"]["linear_2"], width, width);
  if (config_.target_time_gate > 0) {
    target_in_ = Linear(condition["target_embedder"]["linear_1"], config_.freq_dim, width);
    target_out_ = Linear(condition["target_embedder"]["linear_2"], width, width);
  }
  if (config_.action_dim > 0) {
    const Scope action = root["action_embedder"];
    action_in_ = Linear(action["proj"][0], config_.action_dim, width);
    action_out_ = Linear(action["proj"][2], width, width);
    action_modulate_ = Linear(action["to_modulation"], width, 6 * width);
    if (config_.embodiments > 0) {
      embodiments_ = action["embodiment"].parameter("weight", {config_.embodiments, width},
                                                    init::normal(0.02));
    }
  }
  memory_ = memory::make_recurrent_memory(config_.recurrent_memory);
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    blocks_.emplace_back(root["blocks"][layer], config_, layer,
                         config_.is_hybrid(layer) ? memory_ : nullptr);
  }
  head_table_ = root.parameter("scale_shift_table", {1, 2, width},
                               init::normal(1 / std::sqrt(static_cast<double>(width))));
  head_ = Linear(root["proj_out"], width, patch_inputs);
}

at::Tensor Transformer::patchify(const at::Tensor& latents) const {
  // [B, C, F, rows, p, columns, p] → [B, F, rows, columns, C, p, p]
  const int64_t p = config_.patch;
  const at::Tensor patches = latents.unflatten(4, {-1, p})
                                 .unflatten(3, {-1, p})
                                 .permute({0, 2, 3, 5, 1, 4, 6})
                                 .flatten(4)
                                 .flatten(1, 3);
  return kernels::linear(patches, patch_weight_.flatten(1), patch_bias_);
}

at::Tensor Transformer::unpatchify(const at::Tensor& tokens, int64_t frames,
                                   const camera::TokenGrid& grid) const {
  // A token holds [p, p, C]: [B, F, rows, columns, p, p, C] → [B, C, F, rows, p, columns, p]
  const int64_t p = config_.patch;
  return tokens.view({tokens.size(0), frames, grid.rows, grid.columns, p, p, config_.channels})
      .permute({0, 6, 1, 2, 4, 3, 5})
      .flatten(5, 6)
      .flatten(3, 4);
}

at::Tensor Transformer::time_embedding(const at::Tensor& timesteps,
                                       const Conditions& conditions) const {
  const int64_t half = config_.freq_dim / 2;
  const at::Tensor frequencies =
      at::pow(10000.0, at::arange(half, timesteps.options().dtype(at::kDouble)) /
                           static_cast<double>(-half));
  const auto sinusoid = [&](const at::Tensor& times) {
    const at::Tensor angles = times.to(at::kDouble).unsqueeze(-1) * frequencies;
    return at::cat({angles.cos(), angles.sin()}, -1).to(wide(compute_));
  };
  const at::Tensor own = time_out_(at::silu(time_in_(sinusoid(timesteps))));
  const double gate = config_.target_time_gate;
  if (gate == 0) return own;
  const at::Tensor& targets = conditions.target_timesteps;
  const at::Tensor reached =
      target_out_(at::silu(target_in_(sinusoid(targets.defined() ? targets : timesteps))));
  return own * (1 - gate) + reached * gate;
}

at::Tensor Transformer::action_modulation(const Conditions& conditions) const {
  LOCI_CHECK(config_.action_dim > 0, "the model has no actions");
  at::Tensor action = action_out_(at::silu(action_in_(conditions.actions.to(wide(compute_)))));
  if (conditions.embodiments.defined()) {
    LOCI_CHECK(embodiments_.defined(), "the model has no embodiments");
    action =
        action +
        embodiments_.index_select(0, conditions.embodiments).to(action.scalar_type()).unsqueeze(1);
  }
  return action_modulate_(action);
}

TextKeys Transformer::text_keys(const at::Tensor& embeddings) const {
  LOCI_CHECK(embeddings.dim() == 3 && embeddings.size(2) == config_.text_dim,
             "text embeddings must be [B, l, {}]", config_.text_dim);
  if (embeddings.size(1) > config_.text_len) {
    fail("the text has {} tokens; this model accepts at most {}", embeddings.size(1),
         config_.text_len);
  }
  const at::Tensor padded =
      at::constant_pad_nd(embeddings, {0, 0, 0, config_.text_len - embeddings.size(1)});
  const at::Tensor text = text_out_(kernels::gelu(text_in_(padded.to(device(), compute_))));
  TextKeys keys;
  for (const Block& block : blocks_) keys.layers.push_back(block.text_keys(text));
  return keys;
}

FixedKeys Transformer::fixed_keys(const at::Tensor& latents, const TokenMaps& maps,
                                  const at::Tensor& index) const {
  LOCI_CHECK(maps.projected.has_value(), "only models with projections have fixed keys");
  const at::ScalarType type = wide(compute_);
  const at::Tensor x = patchify(latents.to(compute_)).to(type).index_select(1, index);
  const at::Tensor still = at::zeros({latents.size(0), 1}, latents.options().dtype(at::kFloat));
  const at::Tensor modulation =
      time_proj_(at::silu(time_embedding(still, {}))).unflatten(-1, {6, config_.width()});
  const kernels::HeadMap key_map = selected(maps.projected->key, index);
  const kernels::HeadMap value_map = selected(maps.projected->value, index);
  FixedKeys keys;
  for (const Block& block : blocks_) {
    keys.layers.push_back(block.fixed_keys(x, modulation, key_map, value_map, compute_));
  }
  return keys;
}

at::Tensor Transformer::forward(const at::Tensor& latents, const at::Tensor& timesteps,
                                ForwardContext& context) const {
  LOCI_CHECK(latents.dim() == 5 && latents.size(1) == config_.channels,
             "latents must be [B, {}, F, h, w]", config_.channels);
  const Visibility& visible = context.visible;
  LOCI_CHECK(visible.maps != nullptr && visible.text != nullptr, "no maps or no text");
  const int64_t frames = latents.size(2);
  const camera::TokenGrid grid = config_.grid(latents.size(3), latents.size(4));
  LOCI_CHECK(visible.maps->frames == frames && visible.maps->grid == grid,
             "the maps belong to other frames than the latents");
  LOCI_CHECK(
      visible.maps->projected.has_value() == (config_.attention_map == AttentionMap::kProjection),
      "the maps belong to a model with another attention map");
  LOCI_CHECK(!visible.chunks.empty() && visible.chunks.front().begin == 0 &&
                 visible.chunks.back().end == frames,
             "the chunks do not cover the {} frames", frames);
  std::vector<at::Tensor>& states = context.memory.states;
  states.resize(config_.layers);
  const auto plan =
      std::make_shared<const PassPlan>(visible, context.memory, memory_.get(), compute_);

  const at::ScalarType type = wide(compute_);
  at::Tensor x = patchify(latents.to(compute_)).to(type);
  if (visible.added.defined()) x = x + visible.added.to(type);
  const at::Tensor time = time_embedding(timesteps, context.conditions);  // [B, F, width]
  at::Tensor modulation = time_proj_(at::silu(time));
  if (context.conditions.actions.defined()) {
    modulation = modulation + action_modulation(context.conditions);
  }
  modulation = modulation.unflatten(-1, {6, config_.width()});
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    const Block& block = blocks_[layer];
    const TextKeys::Entry& text = visible.text->layers[layer];
    x = context.checkpoint_blocks
            ? checkpointed_block(block, x, modulation, plan, context.observers, text, states[layer])
            : block(x, modulation, *plan, context.observers, text, states[layer]);
    if (context.observers.block_outputs != nullptr) context.observers.block_outputs->push_back(x);
  }
  const std::vector<at::Tensor> m =
      (head_table_.to(type).unsqueeze(0) + time.unsqueeze(2)).split(1, 2);
  const at::Tensor h = kernels::affine_norm(
      x, {.scale = m[1], .shift = m[0], .eps = config_.eps, .dtype = compute_});
  const at::Tensor out = unpatchify(head_(h), frames, grid).to(type);
  if (config_.linear_guess.empty()) return out;
  return add_linear_guess(out, latents.to(type), timesteps, config_.linear_guess);
}

void Transformer::visit_large(const std::function<void(Linear&)>& visit) {
  for (Block& block : blocks_) block.visit_large(visit);
}

void Transformer::pack() {
  if (compute_ != at::kBFloat16 || kernels::isa_level() >= kernels::IsaLevel::kAvx512Bf16) return;
  // A packed weight is a copy of the parameter, which large models cannot afford. Their weights are
  // converted at every use.
  constexpr uint64_t kMostParameters = uint64_t{1} << 30;
  if (parameters_->count() > kMostParameters) return;
  visit_large([](Linear& linear) {
    if (!linear.product) linear.pack(kernels::WeightFormat::kBfloat16);
  });
}

memory::KvLayout Transformer::kv_layout(int64_t batch, const camera::TokenGrid& grid) const {
  memory::KvLayout layout = model::kv_layout(config_, batch, grid.tokens(), compute_);
  layout.device = device();
  return layout;
}

}  // namespace loci::model
