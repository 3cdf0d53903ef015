// SPDX-License-Identifier: Apache-2.0
#include "loci/model/autoencoder/vae_cache.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::model {

namespace {
constexpr const char* kLatents = "latents";
constexpr const char* kHalf = "half";
}  // namespace

at::Tensor VaeCache::take(const std::string& name, bool expected, at::IntArrayRef shape) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end() && !expected) return {};
  if (found == tensors_.end() || found->second.sizes() != shape) {
    fail(
        "the autoencoder's state has {} for '{}', expected [{}]; it belongs to another model, "
        "frame size or tiling",
        found == tensors_.end() ? "nothing"
                                : fmt::format("[{}]", fmt::join(found->second.sizes(), ", ")),
        name, fmt::join(shape, ", "));
  }
  at::Tensor tensor = std::move(found->second);
  tensors_.erase(found);
  return tensor;
}

void VaeCache::put(const std::string& name, const at::Tensor& tensor) {
  tensors_[name] = half_ ? tensor.to(at::kHalf) : tensor;
}

uint64_t VaeCache::bytes() const {
  uint64_t bytes = 0;
  for (const auto& [name, tensor] : tensors_) bytes += tensor.nbytes();
  return bytes;
}

std::map<std::string, at::Tensor> VaeCache::save() const {
  std::map<std::string, at::Tensor> saved = tensors_;
  saved[kLatents] = at::full({}, latents_, at::kLong);
  saved[kHalf] = at::full({}, half_ ? 1 : 0, at::kLong);
  return saved;
}

VaeCache VaeCache::restore(std::map<std::string, at::Tensor> tensors) {
  const auto number = [&tensors](const char* name) {
    const auto found = tensors.find(name);
    if (found == tensors.end() || found->second.numel() != 1 ||
        found->second.scalar_type() != at::kLong) {
      fail("the autoencoder's saved state lacks the integer '{}'", name);
    }
    const int64_t value = found->second.item<int64_t>();
    tensors.erase(found);
    return value;
  };
  VaeCache cache;
  cache.latents_ = number(kLatents);
  cache.half_ = number(kHalf) != 0;
  if (cache.latents_ < 0)
    fail("the autoencoder's saved state has {} latents; expected 0 or more", cache.latents_);
  cache.tensors_ = std::move(tensors);
  return cache;
}

}  // namespace loci::model
