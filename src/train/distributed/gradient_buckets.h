// SPDX-License-Identifier: Apache-2.0
// Averages gradients over ranks in buckets, while the backward pass still computes other gradients.
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

  // `parameters` must outlive this object. With one rank it does nothing.
  GradientBuckets(const std::vector<model::Parameter>& parameters, Communicator& communicator,
                  int64_t bucket_bytes = kBucketBytes);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  // Call it before the last backward pass of an update. From then on a bucket is sent as soon as
  // all its gradients are complete.
  void arm();
  // Call it after that pass, on every rank. Sends the remaining buckets (missing gradients count as
  // zero), waits for all, and writes the means to the gradients.
  void finish();

 private:
  struct Bucket {
    std::vector<size_t> members;  // into parameters_
    size_t ready = 0;             // members with a complete gradient
    at::Tensor flat;
    std::function<void()> wait;  // set when sent
  };
  class ReadyHook;
  void mark_ready(size_t parameter);
  void send(Bucket& bucket);

  const std::vector<model::Parameter>& parameters_;
  Communicator& communicator_;
  std::vector<Bucket> buckets_;    // in the order of the backward pass: the last layers first
  std::vector<size_t> bucket_of_;  // by parameter
  size_t sent_ = 0;                // number of buckets sent
  bool armed_ = false;
};

}  // namespace loci::train
