// SPDX-License-Identifier: Apache-2.0
// Counts the bytes that tensors allocate during its lifetime.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

namespace loci::testing {

// Only one may exist at a time. Tensors that are created during its lifetime must be destroyed
// before it.
class CountingAllocator : public c10::Allocator {
 public:
  CountingAllocator() : inner_(c10::GetCPUAllocator()) {
    current_ = this;
    c10::SetCPUAllocator(this, /*priority=*/0);
  }
  ~CountingAllocator() override {
    c10::SetCPUAllocator(inner_, /*priority=*/0);
    current_ = nullptr;
  }

  c10::DataPtr allocate(size_t size) override {
    live_ += static_cast<int64_t>(size);
    peak_ = std::max(peak_, live_);
    c10::DataPtr inner = inner_->allocate(size);
    void* data = inner.get();
    auto* block = new Block{std::move(inner), size};
    return {data, block, &release, c10::kCPU};
  }
  void copy_data(void* destination, const void* source, size_t count) const override {
    default_copy_data(destination, source, count);
  }

  int64_t peak() const { return peak_; }
  void reset_peak() { peak_ = live_; }
  int64_t live() const { return live_; }

 private:
  struct Block {
    c10::DataPtr data;
    size_t size;
  };
  static void release(void* context) {
    auto* block = static_cast<Block*>(context);
    if (current_ != nullptr) current_->live_ -= static_cast<int64_t>(block->size);
    delete block;
  }

  inline static CountingAllocator* current_ = nullptr;
  c10::Allocator* inner_;
  int64_t live_ = 0, peak_ = 0;
};

}  // namespace loci::testing
