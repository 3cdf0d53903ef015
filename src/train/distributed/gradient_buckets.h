// SPDX-License-Identifier: Apache-2.0
// Gradients averaged over ranks in buckets, while the backward pass is still at work on the rest.
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/model/weights/parameters.h"
#include "loci/train/distributed/communicator.h"

namespace loci::train {

class GradientBuckets {
 public:
  static constexpr int64_t kBucketBytes = 4 << 20;

  // Parameters must outlive it. With one rank it does nothing.
  GradientBuckets(const std::vector<model::Parameter>& parameters, Communicator& communicator,
                  int64_t bucket_bytes = kBucketBytes);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  // Before the last backward pass of an update: from now on a bucket is sent as soon as all its
  // gradients are there.
  void arm();
  // After it: sends what is left (a parameter outside the graph counts as zero), waits for all, and
  // puts the means in place. Every rank must call it.
  void finish();

 private:
  struct Bucket {
    std::vector<size_t> members;  // into parameters_
    size_t ready = 0;             // members whose gradient is there
    at::Tensor flat;
    std::function<void()> wait;  // set once sent
  };
  class ReadyHook;
  void mark_ready(size_t parameter);
  void send(Bucket& bucket);

  const std::vector<model::Parameter>& parameters_;
  Communicator& communicator_;
  std::vector<Bucket> buckets_;    // in the order in which gradients come: the last layers' first
  std::vector<size_t> bucket_of_;  // by parameter
  size_t sent_ = 0;                // buckets
  bool armed_ = false;
};

}  // namespace loci::train
