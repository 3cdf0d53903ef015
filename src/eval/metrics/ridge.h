// SPDX-License-Identifier: Apache-2.0
// Linear readout of a few numbers from many: ridge regression, cross-validated by trajectory.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::eval {

// Out-of-fold predictions [n, k] of `targets` [n, k] from `features` [n, d], both FP64. Rows of one
// trajectory (by number) are never in training and test at once; folds hold whole trajectories.
// Features are centred and scaled by the training rows; the penalty is the best of a grid on a
// second division of the training rows alone.
at::Tensor ridge_predictions(const at::Tensor& features, const at::Tensor& targets,
                             const std::vector<int64_t>& trajectories, int64_t folds = 5);

// The same of several targets of the same k: what depends on the features is worked out once.
std::vector<at::Tensor> ridge_predictions(const at::Tensor& features,
                                          const std::vector<at::Tensor>& list,
                                          const std::vector<int64_t>& trajectories,
                                          int64_t folds = 5);

// 1 - residual sum / total sum over all columns, the total around the mean.
double r_squared(const at::Tensor& predictions, const at::Tensor& targets);

}  // namespace loci::eval
