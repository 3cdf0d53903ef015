// SPDX-License-Identifier: Apache-2.0
#include "loci/model/transformer/camera_branch.h"

#include <ATen/ATen.h>

#include "loci/model/transformer/window_attention.h"

namespace loci::model {

CameraBranch::CameraBranch(const Scope& scope, const TransformerConfig& config)
    : heads_(config.camera_heads()),
      encoder_(scope["cam_encoder"], 3, config.width()),
      query_(Linear::large(scope["q_proj"], config.width(), heads_ * kHeadChannels,
                           config.quantization)),
      key_(Linear::large(scope["k_proj"], config.width(), heads_ * kHeadChannels,
                         config.quantization)),
      value_(Linear::large(scope["v_proj"], config.width(), heads_ * kHeadChannels,
                           config.quantization)),
      out_(Linear::large(scope["out_proj"], heads_ * kHeadChannels, config.width(),
                         config.quantization, init::zeros)) {}

void CameraBranch::visit_large(const std::function<void(Linear&)>& visit) {
  for (Linear* linear : {&query_, &key_, &value_, &out_}) visit(*linear);
}

at::Tensor CameraBranch::operator()(const at::Tensor& h, int64_t layer, const PassPlan& plan,
                                    const kernels::LinearEpilogue& epilogue) const {
  const TokenMaps& maps = *plan.maps;
  const at::Tensor input = h + encoder_(plan.absolute);
  const auto heads = [&](const at::Tensor& x) { return x.unflatten(-1, {heads_, kHeadChannels}); };
  const at::Tensor query = kernels::head_map(heads(query_(input)), maps.camera_query);
  const at::Tensor key = kernels::head_map(heads(key_(input)), maps.camera_key);
  const at::Tensor value = kernels::head_map(heads(value_(input)), maps.camera_key);
  if (plan.store != nullptr) {
    plan.store->put(layer, memory::Branch::kCamera, plan.store_first, key, value);
  }
  const auto past = plan.past_entry(layer, memory::Branch::kCamera);
  const at::Tensor out = window_attention(query, key, value, plan.camera_spans, past.get());
  return out_(kernels::head_map(out, maps.camera_output).flatten(-2), epilogue);
}

ProjectionBranch::ProjectionBranch(const Scope& scope, const TransformerConfig& config)
    : out_(Linear::large(scope, config.width(), config.width(), config.quantization)) {}

at::Tensor ProjectionBranch::operator()(const at::Tensor& query, const at::Tensor& key,
                                        const at::Tensor& value, const at::Tensor& stored_value,
                                        int64_t layer, const PassPlan& plan,
                                        const kernels::LinearEpilogue& epilogue) const {
  const TokenMaps& maps = *plan.maps;
  const at::Tensor q = kernels::head_map(query, maps.camera_query);
  const at::Tensor k = kernels::head_map(key, maps.camera_key);
  const at::Tensor v = kernels::head_map(value, maps.camera_key);
  if (plan.store != nullptr) {
    const bool same = stored_value.is_same(value);
    plan.store->put(layer, memory::Branch::kCamera, plan.store_first, k,
                    same ? v : kernels::head_map(stored_value, maps.camera_key));
  }
  const auto past = plan.past_entry(layer, memory::Branch::kCamera);
  const at::Tensor out = window_attention(q, k, v, plan.camera_spans, past.get());
  return out_(kernels::head_map(out, maps.camera_output).flatten(-2), epilogue);
}

}  // namespace loci::model
