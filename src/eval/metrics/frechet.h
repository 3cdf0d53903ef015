// SPDX-License-Identifier: Apache-2.0
// Fréchet distance of two sets of features: |μ - ν|² + tr(C + D - 2 (C D)^½) with their means and
// covariances (divided by n - 1).
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::eval {

// `a` and `b` are [n, d] with the same n >= 2, because the distance of finite samples is biased
// and the bias depends on n. Neither covariances nor roots of matrices are formed: tr (C D)^½ is
// the sum of the singular values of A Bᵀ, with A and B the centred features, so that the distance
// is exact and real also for n < d. Computed in FP64.
double frechet_distance(const at::Tensor& a, const at::Tensor& b);

// Distances of several walks with features a[i], b[i], [n_i, d]: jackknife pseudo-values
// m D - (m - 1) D_i, one per walk, with D the distance of all m walks together and D_i that without
// walk i. Their mean is D with its bias of order 1/m removed, and their spread that of D: frames of
// a walk are similar, so that the number of walks counts, not that of frames. A single walk has its
// own distance.
std::vector<double> frechet_by_walk(const std::vector<at::Tensor>& a,
                                    const std::vector<at::Tensor>& b);

}  // namespace loci::eval
