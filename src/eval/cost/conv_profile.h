// SPDX-License-Identifier: Apache-2.0
// What libtorch's convolutions take, by shape, while this looks on.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/record_function.h>

namespace loci::eval {

// All convolutions of one shape. Sizes of a picture are those of the output.
struct ConvShape {
  int64_t in = 0, out = 0;  // channels
  int64_t kernel = 0, stride = 0;
  int64_t height = 0, width = 0;
  int64_t pictures = 0;   // over all calls
  double operations = 0;  // multiplications and additions
  double processor = 0;   // seconds of the calling thread
};

// Looks on from its construction to its end; only calls of the constructing thread count. One at a
// time.
class ConvProfile {
 public:
  ConvProfile();
  ~ConvProfile();
  ConvProfile(const ConvProfile&) = delete;
  ConvProfile& operator=(const ConvProfile&) = delete;

  // In the order of their first calls.
  const std::vector<ConvShape>& shapes() const;
  // Processor seconds of this thread since the construction.
  double processor() const;

 private:
  at::CallbackHandle handle_;
  double begun_;
};

}  // namespace loci::eval
