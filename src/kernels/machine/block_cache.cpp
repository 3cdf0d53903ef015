// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/machine/block_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <unordered_map>

#include <c10/core/CPUAllocator.h>

namespace loci::kernels {

namespace {

constexpr size_t kPage = size_t{2} << 20;  // a huge page of x86-64

// A kept block serves a tensor if it is larger by at most this factor.
constexpr double kFit = 1.25;

size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// A new block at a multiple of the page size, or null.
void* map_block(size_t size) {
  void* mapped =
      ::mmap(nullptr, size + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(mapped);
  const size_t before = (kPage - reinterpret_cast<uintptr_t>(begin) % kPage) % kPage;
  if (before > 0) ::munmap(begin, before);
  ::munmap(begin + before + size, kPage - before);
  ::madvise(begin + before, size, MADV_HUGEPAGE);
  return begin + before;
}

struct UsedBlock {
  BlockCache* cache;
  size_t size;
};

// The blocks that tensors use, by address. A deleter only gets the address.
struct UsedBlocks {
  std::mutex mutex;
  std::unordered_map<void*, UsedBlock> by_address;
};

// Never destroyed, since tensors in static variables may be freed at the end of the program.
UsedBlocks& used_blocks() {
  static UsedBlocks& blocks = *new UsedBlocks;
  return blocks;
}

}  // namespace

BlockCache::BlockCache() : small_(c10::GetDefaultCPUAllocator()) {}

BlockCache::~BlockCache() {
  while (!kept_blocks_.empty()) drop_largest();
}

c10::DataPtr BlockCache::allocate(size_t bytes) {
  if (bytes < kLarge) return small_->allocate(bytes);
  const Block block = take(whole_pages(bytes));
  // Without memory, libtorch's allocator reports the error.
  if (block.data == nullptr) return small_->allocate(bytes);
  UsedBlocks& used = used_blocks();
  const std::lock_guard lock(used.mutex);
  used.by_address.emplace(block.data, UsedBlock{this, block.size});
  return {block.data, block.data, &free_block, c10::kCPU};
}

c10::DeleterFnPtr BlockCache::raw_deleter() const { return &free_block; }

void BlockCache::copy_data(void* to, const void* from, size_t bytes) const {
  default_copy_data(to, from, bytes);
}

BlockCache::Block BlockCache::take(size_t size) {
  const std::lock_guard lock(mutex_);
  Block block{nullptr, size};
  const auto kept = kept_blocks_.lower_bound(size);
  if (kept != kept_blocks_.end() &&
      static_cast<double>(kept->first) <= kFit * static_cast<double>(size)) {
    block = {kept->second, kept->first};
    kept_ -= block.size;
    kept_blocks_.erase(kept);
  }
  most_used_ = std::max(most_used_, used_ + block.size);
  if (block.data == nullptr) {
    const auto limit = static_cast<size_t>(kSlack * static_cast<double>(most_used_));
    while (!kept_blocks_.empty() && used_ + kept_ + size > limit) drop_largest();
    block.data = map_block(size);
    while (block.data == nullptr && !kept_blocks_.empty()) {
      drop_largest();
      block.data = map_block(size);
    }
    if (block.data == nullptr) return block;
  }
  used_ += block.size;
  return block;
}

void BlockCache::keep(const Block& block) {
  const std::lock_guard lock(mutex_);
  used_ -= block.size;
  kept_ += block.size;
  kept_blocks_.emplace(block.size, block.data);
}

void BlockCache::drop_largest() {
  const auto largest = std::prev(kept_blocks_.end());
  ::munmap(largest->second, largest->first);
  kept_ -= largest->first;
  kept_blocks_.erase(largest);
}

void BlockCache::free_block(void* data) {
  UsedBlocks& used = used_blocks();
  std::unique_lock lock(used.mutex);
  const auto found = used.by_address.find(data);
  if (found == used.by_address.end()) {
    lock.unlock();
    c10::GetDefaultCPUAllocator()->raw_deallocate(data);
    return;
  }
  const UsedBlock block = found->second;
  used.by_address.erase(found);
  lock.unlock();
  block.cache->keep({data, block.size});
}

size_t BlockCache::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

size_t BlockCache::kept() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

void keep_tensor_memory() {
  // Never destroyed, like the blocks in use.
  static BlockCache& cache = *new BlockCache;
  c10::SetCPUAllocator(&cache);
}

}  // namespace loci::kernels
