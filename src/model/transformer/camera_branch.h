// SPDX-License-Identifier: Apache-2.0
// The camera branches of blocks: attention with keys, values and outputs in ray frames or in the
// projections of frames.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/model/transformer/config.h"
#include "loci/model/transformer/layers.h"
#include "loci/model/transformer/pass_plan.h"

namespace loci::model {

class CameraBranch {
 public:
  CameraBranch(const Scope& scope, const TransformerConfig& config);

  // h [B, N, width], the block's modulated input → [B, N, width] after the epilogue. An untrained
  // branch returns zero before the epilogue.
  at::Tensor operator()(const at::Tensor& h, int64_t layer, const PassPlan& plan,
                        const kernels::LinearEpilogue& epilogue = {}) const;

  void visit_large(const std::function<void(Linear&)>& visit);

 private:
  int64_t heads_;
  Linear encoder_, query_, key_, value_, out_;
};

// Attention of the block's own queries, keys and values (before rotary encoding) under the
// projections of the tokens' frames, with a second output projection.
class ProjectionBranch {
 public:
  ProjectionBranch(const Scope& scope, const TransformerConfig& config);

  // query, key, value, stored_value [B, N, H, 128] → [B, N, width] after the epilogue.
  // `stored_value` is what the store receives instead of `value`.
  at::Tensor operator()(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                        const at::Tensor& stored_value, int64_t layer, const PassPlan& plan,
                        const kernels::LinearEpilogue& epilogue = {}) const;

  void visit_large(const std::function<void(Linear&)>& visit) { visit(out_); }

 private:
  Linear out_;
};

}  // namespace loci::model
