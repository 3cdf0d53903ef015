// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/cost/conv_profile.h"

#include <algorithm>
#include <ctime>
#include <memory>
#include <string_view>

#include <ATen/ATen.h>

namespace loci::eval {

namespace {

// Results of the callbacks, which are plain functions and therefore need a global.
thread_local std::vector<ConvShape> seen;

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Call : at::ObserverContext {
  ConvShape shape;
  double begun = 0;
};

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  if (std::string_view(function.name()) != "aten::conv2d") return nullptr;
  // input [B, in, H, W], weight [out, in, k, k], bias, stride, padding, …
  const at::Tensor& input = function.inputs()[0].toTensor();
  const at::Tensor& weight = function.inputs()[1].toTensor();
  const std::vector<int64_t> stride = function.inputs()[3].toIntVector();
  const std::vector<int64_t> padding = function.inputs()[4].toIntVector();
  auto call = std::make_unique<Call>();
  ConvShape& shape = call->shape;
  shape.in = weight.size(1);
  shape.out = weight.size(0);
  shape.kernel = weight.size(2);
  shape.stride = stride[0];
  shape.height = (input.size(2) + 2 * padding[0] - weight.size(2)) / stride[0] + 1;
  shape.width = (input.size(3) + 2 * padding[1] - weight.size(3)) / stride[1] + 1;
  shape.pictures = input.size(0);
  shape.operations =
      2.0 * static_cast<double>(weight.numel() * shape.height * shape.width * shape.pictures);
  call->begun = thread_seconds();
  return call;
}

void end(const at::RecordFunction&, at::ObserverContext* context) {
  if (context == nullptr) return;
  const auto& call = static_cast<const Call&>(*context);
  const ConvShape& added = call.shape;
  const auto same = [&](const ConvShape& s) {
    return s.in == added.in && s.out == added.out && s.kernel == added.kernel &&
           s.stride == added.stride && s.height == added.height && s.width == added.width;
  };
  auto found = std::find_if(seen.begin(), seen.end(), same);
  if (found == seen.end()) {
    found = seen.insert(seen.end(), added);
    found->pictures = 0;
    found->operations = 0;
  }
  found->pictures += added.pictures;
  found->operations += added.operations;
  found->processor += thread_seconds() - call.begun;
}

}  // namespace

ConvProfile::ConvProfile()
    : handle_(at::addThreadLocalCallback(at::RecordFunctionCallback(&begin, &end)
                                             .needsInputs(true)
                                             .scopes({at::RecordScope::FUNCTION}))),
      begun_(thread_seconds()) {
  seen.clear();
}

ConvProfile::~ConvProfile() { at::removeCallback(handle_); }

const std::vector<ConvShape>& ConvProfile::shapes() const { return seen; }

double ConvProfile::processor() const { return thread_seconds() - begun_; }

}  // namespace loci::eval
