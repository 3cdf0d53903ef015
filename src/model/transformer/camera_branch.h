// SPDX-License-Identifier: Apache-2.0
// The camera branch of every block: attention whose keys, values and outputs live in ray frames.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/model/transformer/config.h"
#include "loci/model/transformer/forward_context.h"
#include "loci/model/transformer/layers.h"

namespace loci::model {

class CameraBranch {
 public:
  CameraBranch(const Scope& scope, const TransformerConfig& config);

  // h [B, N, width], the block's modulated input → [B, N, width], then what the epilogue makes of
  // it. Starts at zero when untrained.
  at::Tensor operator()(const at::Tensor& h, int64_t layer, const ForwardContext& context,
                        const kernels::LinearEpilogue& epilogue = {}) const;

  void visit_large(const std::function<void(Linear&)>& visit);

 private:
  int64_t heads_;
  Linear encoder_, query_, key_, value_, out_;
};

}  // namespace loci::model
