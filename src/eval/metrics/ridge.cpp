// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/metrics/ridge.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::eval {

namespace {

// Relative to the mean of the diagonal of the kernel matrix.
constexpr std::array kPenalties = {1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0};

struct Rows {
  at::Tensor train, test;  // row numbers
};

at::Tensor row_tensor(const std::vector<int64_t>& rows) {
  return at::tensor(rows, at::TensorOptions(at::kLong));
}

// Assigns trajectories to folds round-robin, so that neighbours fall into different folds.
std::vector<Rows> divide(const std::vector<int64_t>& trajectories, const std::vector<int64_t>& rows,
                         int64_t folds) {
  std::set<int64_t> names;
  for (const int64_t row : rows) names.insert(trajectories[static_cast<size_t>(row)]);
  const std::vector<int64_t> order(names.begin(), names.end());
  folds = std::min<int64_t>(folds, std::ssize(order));
  std::vector<Rows> parts;
  for (int64_t fold = 0; fold < folds; ++fold) {
    std::vector<int64_t> train, test;
    for (const int64_t row : rows) {
      const auto place =
          std::lower_bound(order.begin(), order.end(), trajectories[static_cast<size_t>(row)]) -
          order.begin();
      (place % folds == fold ? test : train).push_back(row);
    }
    parts.push_back({row_tensor(train), row_tensor(test)});
  }
  return parts;
}

// Dual form: the number of unknowns is the number of rows, independent of the number of features.
class Fit {
 public:
  Fit(const at::Tensor& features, const Rows& rows) : rows_(rows) {
    const at::Tensor train = features.index_select(0, rows.train);
    const at::Tensor mean = train.mean(0), deviation = train.std(0, /*unbiased=*/false);
    const at::Tensor scale = at::where(deviation > 1e-12, deviation, at::ones_like(deviation));
    const at::Tensor x = (train - mean) / scale;
    kernel_ = at::matmul(x, x.t());
    test_ = at::matmul((features.index_select(0, rows.test) - mean) / scale, x.t());
  }
  // Predicts the test rows; `targets` has all rows.
  at::Tensor predict(const at::Tensor& targets, double penalty) const {
    const at::Tensor y = targets.index_select(0, rows_.train), offset = y.mean(0);
    const double size = kernel_.diagonal().mean().item<double>();
    const at::Tensor ridge = at::eye(kernel_.size(0), at::kDouble) *
                             (penalty * std::max(size, std::numeric_limits<double>::min()));
    return at::matmul(test_, at::linalg_solve(kernel_ + ridge, y - offset)) + offset;
  }

 private:
  Rows rows_;
  at::Tensor kernel_, test_;
};

}  // namespace

double r_squared(const at::Tensor& predictions, const at::Tensor& targets) {
  const double total = (targets - targets.mean(0)).square().sum().item<double>();
  const double left = (targets - predictions).square().sum().item<double>();
  if (total == 0) return std::numeric_limits<double>::quiet_NaN();
  return 1 - left / total;
}

std::vector<at::Tensor> ridge_predictions(const at::Tensor& features,
                                          const std::vector<at::Tensor>& list,
                                          const std::vector<int64_t>& trajectories, int64_t folds) {
  LOCI_CHECK(!list.empty(), "no targets");
  for (const at::Tensor& targets : list) {
    LOCI_CHECK(features.dim() == 2 && targets.dim() == 2 && features.size(0) == targets.size(0) &&
                   features.size(0) == std::ssize(trajectories) &&
                   targets.size(1) == list.front().size(1),
               "{} rows of features, {} of targets, {} trajectories", features.size(0),
               targets.size(0), trajectories.size());
  }
  std::vector<int64_t> all(trajectories.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  if (std::set<int64_t>(trajectories.begin(), trajectories.end()).size() < 3) {
    fail("cross-validation needs at least 3 trajectories");
  }
  const int64_t columns = list.front().size(1);
  const at::Tensor targets = at::cat(list, 1);
  at::Tensor predictions = at::empty_like(targets);
  for (const Rows& rows : divide(trajectories, all, folds)) {
    const int64_t* train = rows.train.const_data_ptr<int64_t>();
    const std::vector<int64_t> inner(train, train + rows.train.numel());
    // By penalty and target.
    at::Tensor errors = at::zeros(
        {static_cast<int64_t>(kPenalties.size()), static_cast<int64_t>(list.size())}, at::kDouble);
    for (const Rows& second : divide(trajectories, inner, folds)) {
      const Fit fit(features, second);
      const at::Tensor wanted = targets.index_select(0, second.test);
      for (size_t p = 0; p < kPenalties.size(); ++p) {
        errors[static_cast<int64_t>(p)] += (fit.predict(targets, kPenalties[p]) - wanted)
                                               .square()
                                               .sum(0)
                                               .view({-1, columns})
                                               .sum(1);
      }
    }
    const at::Tensor best = errors.argmin(0);
    const Fit fit(features, rows);
    for (size_t p = 0; p < kPenalties.size(); ++p) {
      // Columns of the targets for which this penalty is best.
      const at::Tensor chosen =
          (best == static_cast<int64_t>(p)).repeat_interleave(columns).nonzero().squeeze(1);
      if (chosen.numel() == 0) continue;
      const at::Tensor made = fit.predict(targets.index_select(1, chosen), kPenalties[p]);
      predictions.index_put_({rows.test.unsqueeze(1), chosen.unsqueeze(0)}, made);
    }
  }
  return predictions.split(columns, 1);
}

at::Tensor ridge_predictions(const at::Tensor& features, const at::Tensor& targets,
                             const std::vector<int64_t>& trajectories, int64_t folds) {
  return ridge_predictions(features, std::vector{targets}, trajectories, folds).front();
}

}  // namespace loci::eval
