// SPDX-License-Identifier: Apache-2.0
// Memory of large tensors that is kept for the next ones. Large blocks that are freed otherwise go
// back to the operating system, and every page of a new block then costs a page fault: a third of
// the processor time of a training step.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include <c10/core/Allocator.h>

namespace loci::kernels {

// An allocator for CPU tensors. Tensors of at least kLarge bytes get blocks from this object, in
// huge pages if the operating system provides them; smaller ones come from libtorch's allocator. A
// freed block is kept for a tensor of similar size. Used and kept blocks together never exceed
// kSlack times the largest total that was in use at once. Thread-safe.
class BlockCache final : public c10::Allocator {
 public:
  static constexpr size_t kLarge = size_t{1} << 20;
  static constexpr double kSlack = 1.25;

  BlockCache();
  // Unmaps the kept blocks. Tensors of this allocator must not outlive it.
  ~BlockCache() override;

  c10::DataPtr allocate(size_t bytes) override;
  // Frees raw allocations of every size, also those of libtorch's allocator.
  c10::DeleterFnPtr raw_deleter() const override;
  void copy_data(void* to, const void* from, size_t bytes) const override;

  // Bytes of the blocks that tensors use, and of those that are kept.
  size_t used() const;
  size_t kept() const;

 private:
  struct Block {
    void* data;
    size_t size;
  };

  // A kept or new block of at least `size` bytes; null data if there is no memory.
  Block take(size_t size);
  void keep(const Block& block);
  void drop_largest();
  static void free_block(void* data);

  c10::Allocator* small_;
  mutable std::mutex mutex_;
  std::multimap<size_t, void*> kept_blocks_;  // by size
  size_t used_ = 0, kept_ = 0, most_used_ = 0;
};

// Makes a BlockCache the allocator of all CPU tensors for the rest of the process. For programs in
// which tensors of the same sizes come and go, such as training.
void keep_tensor_memory();

}  // namespace loci::kernels
