// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/metrics/frechet.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"

namespace loci::eval {

namespace {

// A matrix R with RᵀR = covariance and at most d rows.
at::Tensor root_of_covariance(const at::Tensor& features, const at::Tensor& mean) {
  const at::Tensor centred =
      (features - mean) / std::sqrt(static_cast<double>(features.size(0) - 1));
  if (centred.size(0) <= centred.size(1)) return centred;
  return std::get<1>(at::linalg_qr(centred, "r"));
}

at::Tensor all_but(const std::vector<at::Tensor>& list, size_t without) {
  std::vector<at::Tensor> rest;
  for (size_t i = 0; i < list.size(); ++i) {
    if (i != without) rest.push_back(list[i]);
  }
  return at::cat(rest);
}

}  // namespace

double frechet_distance(const at::Tensor& a, const at::Tensor& b) {
  LOCI_CHECK(a.dim() == 2 && a.sizes() == b.sizes() && a.size(0) >= 2,
             "features of [{}] and [{}]; expected equal numbers, at least 2",
             fmt::join(a.sizes(), ", "), fmt::join(b.sizes(), ", "));
  const at::Tensor x = a.to(at::kDouble), y = b.to(at::kDouble);
  const at::Tensor mean_x = x.mean(0), mean_y = y.mean(0);
  const at::Tensor r = root_of_covariance(x, mean_x), s = root_of_covariance(y, mean_y);
  const double roots = at::linalg_svdvals(at::matmul(r, s.t())).sum().item<double>();
  const double traces = (r.square().sum() + s.square().sum()).item<double>();
  const double means = (mean_x - mean_y).square().sum().item<double>();
  // The distance of equal sets is zero up to rounding errors of either sign.
  return std::max(0.0, means + traces - 2 * roots);
}

std::vector<double> frechet_by_walk(const std::vector<at::Tensor>& a,
                                    const std::vector<at::Tensor>& b) {
  LOCI_CHECK(a.size() == b.size(), "{} and {} walks", a.size(), b.size());
  if (a.empty()) return {};
  const double all = frechet_distance(at::cat(a), at::cat(b));
  if (a.size() == 1) return {all};
  const auto walks = static_cast<double>(a.size());
  std::vector<double> values;
  for (size_t i = 0; i < a.size(); ++i) {
    check_interrupt();
    values.push_back(walks * all - (walks - 1) * frechet_distance(all_but(a, i), all_but(b, i)));
  }
  return values;
}

}  // namespace loci::eval
