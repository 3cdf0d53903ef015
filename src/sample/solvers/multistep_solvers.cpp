// SPDX-License-Identifier: Apache-2.0
// UniPC and DPM-Solver++: second-order solvers on predictions of the clean latent, in the variable
// lambda = ln((1 - level) / level).
#include <cmath>
#include <deque>
#include <limits>

#include <ATen/ATen.h>

#include "loci/sample/solvers/solver.h"

namespace loci::sample {

namespace {

double lambda_of(double level) {
  return level <= 0 ? std::numeric_limits<double>::infinity() : std::log((1 - level) / level);
}

// A prediction of the clean latent, and its lambda.
struct Prediction {
  at::Tensor clean;
  double lambda = 0;
};

class MultistepSolver : public Solver {
 public:
  using Solver::Solver;

  // Wan's implementations truncate the timestep to an integer.
  double timestep(int64_t i) const override { return std::floor(1000 * level(i)); }

 protected:
  Prediction predict(int64_t i, const at::Tensor& x, const at::Tensor& velocity) const {
    return {at::sub(x, velocity, level(i)), lambda_of(level(i))};
  }
};

class DpmppSolver : public MultistepSolver {
 public:
  DpmppSolver(int64_t steps, double shift) : MultistepSolver(shifted_levels(steps, 1, shift)) {}

  at::Tensor step(int64_t i, const at::Tensor& x, const at::Tensor& velocity) override {
    const Prediction now = predict(i, x, velocity);
    const double from = level(i);
    const double to = level(i + 1);
    // At level 1 lambda is minus infinity, and the step uses the clean prediction only.
    const double h = lambda_of(to) - now.lambda;
    const double decay = to / from * (1 - from) / (1 - to);  // exp(-h)
    const double gain = (1 - to) * (1 - decay);
    at::Tensor out = x * (to / from) + now.clean * gain;
    const bool last = i + 1 == steps();
    if (!last && earlier_ && std::isfinite(earlier_->lambda)) {
      const double ratio = (now.lambda - earlier_->lambda) / h;
      out = out + (now.clean - earlier_->clean) * (gain / (2 * ratio));
    }
    earlier_ = now;
    return out;
  }

 private:
  std::optional<Prediction> earlier_;
};

// phi-functions of one UniPC step (bh2, clean prediction) over h in lambda.
struct UnipcStep {
  double e;  // expm1(-h): also B(h)
  double b1, b2;

  explicit UnipcStep(double h) {
    e = std::expm1(-h);
    const double phi1 = e / -h - 1;
    const double phi2 = phi1 / -h - 0.5;
    b1 = phi1 / e;
    b2 = 2 * phi2 / e;
  }
};

class UnipcSolver : public MultistepSolver {
 public:
  UnipcSolver(int64_t steps, double shift) : MultistepSolver(shifted_levels(steps, 0.999, shift)) {}

  at::Tensor step(int64_t i, const at::Tensor& x, const at::Tensor& velocity) override {
    const Prediction now = predict(i, x, velocity);
    const at::Tensor start = i > 0 ? correct(i, now) : x;
    past_.push_back(now);
    if (past_.size() > 2) past_.pop_front();
    start_ = start;
    order_ = std::min<int64_t>({2, steps() - i, static_cast<int64_t>(past_.size())});
    return predict_next(i, start);
  }

 private:
  // From level i to level i + 1.
  at::Tensor predict_next(int64_t i, const at::Tensor& start) const {
    const double to = level(i + 1);
    const Prediction& now = past_.back();
    const double h = lambda_of(to) - now.lambda;
    const double e = std::expm1(-h);  // -1 at the end, where h is infinite
    at::Tensor out = start * (to / level(i)) - now.clean * ((1 - to) * e);
    if (order_ == 2) out = out - difference(h) * ((1 - to) * e * 0.5);
    return out;
  }

  // (older - newer prediction) / r, r their distance in units of h.
  at::Tensor difference(double h) const {
    const double r = (past_.front().lambda - past_.back().lambda) / h;
    return (past_.front().clean - past_.back().clean) / r;
  }

  // Repeats the step to level i with the prediction at level i.
  at::Tensor correct(int64_t i, const Prediction& now) const {
    const double to = level(i);
    const double h = now.lambda - past_.back().lambda;
    const UnipcStep u(h);
    const at::Tensor change = now.clean - past_.back().clean;
    at::Tensor correction;
    if (order_ == 1) {
      correction = change * 0.5;
    } else {
      // rho_1 + rho_2 = b1 and r rho_1 + rho_2 = b2
      const double r = (past_.front().lambda - past_.back().lambda) / h;
      const double rho1 = (u.b1 - u.b2) / (1 - r);
      correction = difference(h) * rho1 + change * (u.b1 - rho1);
    }
    return start_ * (to / level(i - 1)) - past_.back().clean * ((1 - to) * u.e) -
           correction * ((1 - to) * u.e);
  }

  std::deque<Prediction> past_;  // at most two, the older first
  at::Tensor start_;             // corrected latent before the last step
  int64_t order_ = 1;            // of the last step
};

}  // namespace

std::unique_ptr<Solver> make_unipc(int64_t steps, double shift) {
  return std::make_unique<UnipcSolver>(steps, shift);
}

std::unique_ptr<Solver> make_dpmpp(int64_t steps, double shift) {
  return std::make_unique<DpmppSolver>(steps, shift);
}

}  // namespace loci::sample
