// SPDX-License-Identifier: Apache-2.0
// Ridge regression with cross-validation by trajectory.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::eval {

// Out-of-fold predictions [n, k] of `targets` [n, k] from `features` [n, d], all FP64.
// `trajectories` has the trajectory number of each row; folds consist of whole trajectories.
// Features are standardised with the training rows. The penalty is selected from a grid by an inner
// cross-validation on the training rows.
at::Tensor ridge_predictions(const at::Tensor& features, const at::Tensor& targets,
                             const std::vector<int64_t>& trajectories, int64_t folds = 5);

// The same for several targets with equal k. The work that depends on the features is shared.
std::vector<at::Tensor> ridge_predictions(const at::Tensor& features,
                                          const std::vector<at::Tensor>& list,
                                          const std::vector<int64_t>& trajectories,
                                          int64_t folds = 5);

// 1 - residual sum of squares / total sum of squares, over all columns. NaN for constant targets.
double r_squared(const at::Tensor& predictions, const at::Tensor& targets);

}  // namespace loci::eval
