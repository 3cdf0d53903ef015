// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/analysis/attention_share.h"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"

namespace loci::eval {

double AttentionShare::enrichment() const {
  return fraction > 0 ? share / fraction : std::numeric_limits<double>::quiet_NaN();
}

AttentionShare attention_share(const at::Tensor& query, const at::Tensor& past,
                               const at::Tensor& own, const at::Tensor& covisible) {
  const at::NoGradGuard no_grad;
  const int64_t tokens = query.size(0), heads = query.size(1), history = past.size(0);
  LOCI_CHECK(covisible.sizes() == at::IntArrayRef({tokens, history}),
             "{} queries, {} past keys, but covisible is [{}]", tokens, history,
             fmt::join(covisible.sizes(), ", "));
  const double scale = 1 / std::sqrt(static_cast<double>(query.size(2)));
  at::Tensor weights = at::zeros({tokens, history}, at::kFloat);
  // Head by head, to limit memory: a long history has many keys.
  for (int64_t head = 0; head < heads; ++head) {
    const at::Tensor keys = at::cat({past.select(1, head), own.select(1, head)}).to(at::kFloat);
    const at::Tensor scores = at::matmul(query.select(1, head).to(at::kFloat), keys.t()) * scale;
    weights += at::softmax(scores, 1).narrow(1, 0, history);
  }
  const at::Tensor mass = weights.to(at::kDouble).sum(1) / static_cast<double>(heads);
  const at::Tensor chosen =
      (weights * covisible).to(at::kDouble).sum(1) / static_cast<double>(heads);
  AttentionShare result;
  for (int64_t i = 0; i < tokens; ++i) {
    const double all = mass[i].item<double>();
    if (!(all > 0)) {
      ++result.excluded;
      continue;
    }
    ++result.queries;
    result.share += chosen[i].item<double>() / all;
    result.mass += all;
    result.fraction += covisible[i].to(at::kDouble).mean().item<double>();
  }
  if (result.queries == 0) return result;
  const auto count = static_cast<double>(result.queries);
  result.share /= count;
  result.mass /= count;
  result.fraction /= count;
  return result;
}

}  // namespace loci::eval
