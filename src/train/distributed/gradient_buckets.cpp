// SPDX-License-Identifier: Apache-2.0
#include "loci/train/distributed/gradient_buckets.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace loci::train {

class GradientBuckets::ReadyHook : public torch::autograd::PostAccumulateGradHook {
 public:
  ReadyHook(GradientBuckets& buckets, size_t parameter)
      : buckets_(buckets), parameter_(parameter) {}
  void operator()(const at::Tensor&) override { buckets_.mark_ready(parameter_); }

 private:
  GradientBuckets& buckets_;
  size_t parameter_;
};

GradientBuckets::GradientBuckets(const std::vector<model::Parameter>& parameters,
                                 Communicator& communicator, int64_t bucket_bytes)
    : parameters_(parameters), communicator_(communicator), bucket_of_(parameters.size()) {
  if (communicator_.size() == 1) return;
  int64_t bytes = 0;
  for (size_t i = parameters.size(); i-- > 0;) {
    if (buckets_.empty() || bytes >= bucket_bytes) {
      buckets_.emplace_back();
      bytes = 0;
    }
    buckets_.back().members.push_back(i);
    bucket_of_[i] = buckets_.size() - 1;
    bytes += static_cast<int64_t>(parameters[i].tensor.nbytes());
    torch::autograd::impl::set_post_acc_grad_hooks(parameters[i].tensor,
                                                   std::make_unique<ReadyHook>(*this, i));
  }
}

GradientBuckets::~GradientBuckets() {
  if (buckets_.empty()) return;
  for (const model::Parameter& parameter : parameters_) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameter.tensor, nullptr);
  }
}

void GradientBuckets::arm() {
  for (Bucket& bucket : buckets_) bucket.ready = 0;
  sent_ = 0;
  armed_ = true;
}

void GradientBuckets::mark_ready(size_t parameter) {
  if (!armed_) return;
  ++buckets_[bucket_of_[parameter]].ready;
  // Strictly in order: graphs differ between ranks, but all ranks must send in the same order.
  while (sent_ < buckets_.size() && buckets_[sent_].ready == buckets_[sent_].members.size()) {
    send(buckets_[sent_++]);
  }
}

void GradientBuckets::send(Bucket& bucket) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parts;
  for (const size_t i : bucket.members) {
    const at::Tensor& tensor = parameters_[i].tensor;
    if (!tensor.grad().defined()) tensor.mutable_grad() = at::zeros_like(tensor);
    parts.push_back(tensor.grad().flatten());
  }
  bucket.flat = at::cat(parts);
  bucket.wait = communicator_.start_all_reduce_mean(bucket.flat);
}

void GradientBuckets::finish() {
  const at::NoGradGuard no_grad;
  armed_ = false;
  while (sent_ < buckets_.size()) send(buckets_[sent_++]);
  for (Bucket& bucket : buckets_) {
    bucket.wait();
    int64_t offset = 0;
    for (const size_t i : bucket.members) {
      const at::Tensor& gradient = parameters_[i].tensor.grad();
      gradient.copy_(bucket.flat.narrow(0, offset, gradient.numel()).view(gradient.sizes()));
      offset += gradient.numel();
    }
    bucket.flat.reset();
    bucket.wait = nullptr;
  }
  sent_ = 0;
}

}  // namespace loci::train
