// SPDX-License-Identifier: Apache-2.0
// The state of a streaming autoencoder between calls.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <ATen/core/Tensor.h>

namespace loci::model {

// The size of the state depends on the frame size only, not on the number of frames. Stored tensors
// are never modified, so a copy shares them and is a snapshot.
class VaeCache {
 public:
  // `half` stores tensors as float16: half the memory of FP32, rounded to 11 bits.
  explicit VaeCache(bool half = false) : half_(half) {}

  bool half() const { return half_; }

  // Number of latents processed so far.
  int64_t latents() const { return latents_; }
  void count(int64_t latents) { latents_ += latents; }

  // Removes and returns a tensor, so that the layer can release its memory before it calls put().
  // Undefined if nothing is stored and `expected` is false. A missing tensor or another shape is
  // bad input (the state belongs to another model or frame size).
  at::Tensor take(const std::string& name, bool expected, at::IntArrayRef shape);
  void put(const std::string& name, const at::Tensor& tensor);

  uint64_t bytes() const;

  // The state as named tensors for a file.
  std::map<std::string, at::Tensor> save() const;
  static VaeCache restore(std::map<std::string, at::Tensor> tensors);

 private:
  bool half_ = false;
  int64_t latents_ = 0;
  std::map<std::string, at::Tensor> tensors_;
};

}  // namespace loci::model
