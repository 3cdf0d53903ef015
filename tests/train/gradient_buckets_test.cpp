// SPDX-License-Identifier: Apache-2.0
#include "loci/train/distributed/gradient_buckets.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace loci::train {
namespace {

// A job of two ranks in which the gradients of the other rank are zero.
class HalvingCommunicator : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  std::function<void()> start_all_reduce_mean(at::Tensor tensor) override {
    started.push_back(tensor.numel());
    return [tensor]() mutable { tensor.div_(2); };
  }
  void broadcast(at::Tensor, int) override {}

  std::vector<int64_t> started;  // number of elements, in order
};

std::vector<model::Parameter> three_parameters() {
  std::vector<model::Parameter> parameters;
  for (const int64_t size : {3, 4, 5}) {
    parameters.push_back(
        {"p" + std::to_string(size), at::ones({size}, at::kFloat).requires_grad_(true)});
  }
  return parameters;
}

at::Tensor loss_of(const std::vector<model::Parameter>& parameters,
                   std::initializer_list<size_t> used) {
  at::Tensor loss = at::zeros({});
  for (const size_t i : used) loss = loss + parameters[i].tensor.sum();
  return loss;
}

TEST(GradientBuckets, AreSentDuringTheBackwardPassLastParameterFirst) {
  const std::vector<model::Parameter> parameters = three_parameters();
  HalvingCommunicator communicator;
  GradientBuckets buckets(parameters, communicator, /*bucket_bytes=*/1);  // one parameter each
  loss_of(parameters, {0, 1, 2}).backward();  // accumulates, before arm()
  EXPECT_TRUE(communicator.started.empty());
  buckets.arm();
  loss_of(parameters, {0, 1, 2}).backward();
  EXPECT_EQ(communicator.started, (std::vector<int64_t>{5, 4, 3}));
  buckets.finish();
  for (const model::Parameter& parameter : parameters) {
    EXPECT_TRUE(at::equal(parameter.tensor.grad(), at::ones_like(parameter.tensor)));
  }
}

TEST(GradientBuckets, AMissingGradientDelaysLaterBucketsAndCountsAsZero) {
  const std::vector<model::Parameter> parameters = three_parameters();
  HalvingCommunicator communicator;
  GradientBuckets buckets(parameters, communicator, 1);
  buckets.arm();
  loss_of(parameters, {0, 2}).backward();
  // Other ranks may have a gradient for the middle parameter, so its bucket must be sent next.
  EXPECT_EQ(communicator.started, (std::vector<int64_t>{5}));
  buckets.finish();
  EXPECT_EQ(communicator.started, (std::vector<int64_t>{5, 4, 3}));
  EXPECT_TRUE(at::equal(parameters[1].tensor.grad(), at::zeros({4})));
  EXPECT_TRUE(at::equal(parameters[0].tensor.grad(), at::full({3}, 0.5)));
}

TEST(GradientBuckets, OneRankSendsNothing) {
  const std::vector<model::Parameter> parameters = three_parameters();
  const std::unique_ptr<Communicator> single = make_single_communicator();
  GradientBuckets buckets(parameters, *single);
  buckets.arm();
  loss_of(parameters, {0, 1, 2}).backward();
  buckets.finish();
  EXPECT_TRUE(at::equal(parameters[2].tensor.grad(), at::ones({5})));
}

}  // namespace
}  // namespace loci::train
