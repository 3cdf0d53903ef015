// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/delta_rule/delta_rule.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::kernels {

namespace {

// With libtorch's products, the triangular matrix of a block of N tokens costs N², and the products
// with the state cost N * 128. At 128 tokens both are equal, and the matrices of 24 heads take 1.5
// MB.
constexpr int64_t kBlock = 128;
constexpr int64_t kDecayBlock = 16;

void check_shapes(const at::Tensor& state, const at::Tensor& key, const at::Tensor& value,
                  const at::Tensor& beta) {
  LOCI_CHECK(state.dim() == 3 && key.dim() == 3 && value.dim() == 3 && beta.dim() == 2,
             "expected state [G, K, V], key [G, N, K], value [G, N, V], beta [G, N]");
  LOCI_CHECK(key.size(0) == state.size(0) && key.size(2) == state.size(1) &&
                 value.size(0) == state.size(0) && value.size(2) == state.size(2) &&
                 value.size(1) == key.size(1) && beta.size(0) == key.size(0) &&
                 beta.size(1) == key.size(1),
             "state, key, value and beta have inconsistent sizes");
}

// Solves (I + tril(diag(β) left rightᵀ, -1)) U = diag(β) rhs.
at::Tensor solve_block(const at::Tensor& left, const at::Tensor& right, const at::Tensor& beta,
                       const at::Tensor& rhs) {
  const at::Tensor weight = beta.unsqueeze(-1);
  const at::Tensor system = at::tril(weight * at::bmm(left, right.transpose(1, 2)), -1);
  return at::linalg_solve_triangular(system, weight * rhs, /*upper=*/false, /*left=*/true,
                                     /*unitriangular=*/true);
}

}  // namespace

at::Tensor delta_write_by_libtorch(const at::Tensor& state, const at::Tensor& key,
                                   const at::Tensor& value, const at::Tensor& beta) {
  check_shapes(state, key, value, beta);
  at::Tensor current = state;
  for (int64_t begin = 0; begin < key.size(1); begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, key.size(1));
    const at::Tensor k = key.slice(1, begin, end);
    const at::Tensor rhs = at::baddbmm(value.slice(1, begin, end), k, current, 1, -1);
    const at::Tensor correction = solve_block(k, k, beta.slice(1, begin, end), rhs);
    current = at::baddbmm(current, k.transpose(1, 2), correction);
  }
  return current;
}

at::Tensor delta_write(const at::Tensor& state, const at::Tensor& key, const at::Tensor& value,
                       const at::Tensor& beta) {
  check_shapes(state, key, value, beta);
  if (key.size(1) == 0) return state;
  return delta_chunks(state.unsqueeze(1), {}, key.unsqueeze(2), value.unsqueeze(2),
                      beta.unsqueeze(2), {}, {.ends = {key.size(1)}}, 1)
      .state.squeeze(1);
}

at::Tensor decayed_delta_write(const at::Tensor& state, const at::Tensor& key,
                               const at::Tensor& value, const at::Tensor& beta,
                               const at::Tensor& log_decay) {
  check_shapes(state, key, value, beta);
  LOCI_CHECK(log_decay.sizes() == key.sizes(), "log_decay must have the shape of key");
  at::Tensor current = state;
  for (int64_t begin = 0; begin < key.size(1); begin += kDecayBlock) {
    const int64_t end = std::min(begin + kDecayBlock, key.size(1));
    const at::Tensor k = key.slice(1, begin, end);
    // Token i reads the state decayed by exp(total_i) and the update of token j decayed by
    // exp(total_i - total_j). The second factor is split between the keys of i and j.
    const at::Tensor total = log_decay.slice(1, begin, end).cumsum(1);
    const at::Tensor seen = k * total.exp();
    const at::Tensor rhs = at::baddbmm(value.slice(1, begin, end), seen, current, 1, -1);
    const at::Tensor correction =
        solve_block(seen, k * (-total).exp(), beta.slice(1, begin, end), rhs);
    const at::Tensor last = total.slice(1, -1);  // [G, 1, K]
    const at::Tensor kept = k * (last - total).exp();
    current = at::baddbmm(last.exp().transpose(1, 2) * current, kept.transpose(1, 2), correction);
  }
  return current;
}

}  // namespace loci::kernels
