// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/mapped_file.h"

#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/base/machine.h"

namespace loci::io {
namespace {

constexpr size_t kBytes = size_t{64} << 20;

TEST(ReleasePages, ReleasesPagesAndKeepsTheData) {
  const auto path = std::filesystem::path(::testing::TempDir()) /
                    fmt::format("loci_release_pages_{}", ::getpid());
  write_file(path, std::string(kBytes, 'x'));
  const at::Tensor tensor =
      tensor_over(map_file(path), at::kByte, std::vector<int64_t>{int64_t{kBytes}}, "here");
  const int64_t sum = tensor.sum().item<int64_t>();
  const uint64_t before = process_memory().value().now;
  release_pages(tensor);
  EXPECT_LT(process_memory().value().now + kBytes / 2, before);
  EXPECT_EQ(tensor.sum().item<int64_t>(), sum);
  std::filesystem::remove(path);
}

TEST(ReleasePages, DoesNotChangeOtherMemory) {
  const at::Tensor numbers = at::arange(1 << 20), copy = numbers.clone();
  release_pages(numbers);
  release_pages(numbers.slice(0, 0, 1 << 20, 2));
  release_pages(numbers.narrow(0, 1, 3));
  EXPECT_TRUE(at::equal(numbers, copy));
}

}  // namespace
}  // namespace loci::io
