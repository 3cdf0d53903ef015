// SPDX-License-Identifier: Apache-2.0
// Profiles libtorch's convolutions by shape.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/record_function.h>

namespace loci::eval {

// Statistics of all convolutions of one shape. Height and width are those of the output.
struct ConvShape {
  int64_t in = 0, out = 0;  // channels
  int64_t kernel = 0, stride = 0;
  int64_t height = 0, width = 0;
  int64_t pictures = 0;   // total of all calls
  double operations = 0;  // multiplications and additions
  double processor = 0;   // CPU seconds of the calling thread
};

// Records from construction to destruction, only calls of the constructing thread. Only one
// instance may exist per thread.
class ConvProfile {
 public:
  ConvProfile();
  ~ConvProfile();
  ConvProfile(const ConvProfile&) = delete;
  ConvProfile& operator=(const ConvProfile&) = delete;

  // Ordered by first call.
  const std::vector<ConvShape>& shapes() const;
  // CPU seconds of this thread since construction.
  double processor() const;

 private:
  at::CallbackHandle handle_;
  double begun_;
};

}  // namespace loci::eval
