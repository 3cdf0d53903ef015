// SPDX-License-Identifier: Apache-2.0
// What the layers of a streaming autoencoder remember between calls.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <ATen/core/Tensor.h>

namespace loci::model {

// Its size depends on the frame size only, never on how many frames passed. Copying is cheap
// (tensors are shared and never written to once stored), so a copy is a snapshot.
class VaeCache {
 public:
  // With half set, tensors are kept as float16: half the memory of FP32, rounded to 11 bits.
  explicit VaeCache(bool half = false) : half_(half) {}

  bool half() const { return half_; }

  // Latents that passed so far.
  int64_t latents() const { return latents_; }
  void count(int64_t latents) { latents_ += latents; }

  // Removes and returns the tensor of that name; the layer puts its successor back, and in between
  // the memory is the layer's to release. Undefined when nothing is expected to be there yet;
  // bad input when it should have this shape and has not (a state of another model or frame size).
  at::Tensor take(const std::string& name, bool expected, at::IntArrayRef shape);
  void put(const std::string& name, const at::Tensor& tensor);

  uint64_t bytes() const;

  // Everything as named tensors, for a file, and back.
  std::map<std::string, at::Tensor> save() const;
  static VaeCache restore(std::map<std::string, at::Tensor> tensors);

 private:
  bool half_ = false;
  int64_t latents_ = 0;
  std::map<std::string, at::Tensor> tensors_;
};

}  // namespace loci::model
