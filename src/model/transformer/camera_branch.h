// SPDX-License-Identifier: Apache-2.0
// The camera branch of every block: attention with keys, values and outputs in ray frames.
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

}  // namespace loci::model
