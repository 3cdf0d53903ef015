// SPDX-License-Identifier: Apache-2.0
#include "loci/io/mapped_file.h"

#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/base/machine.h"

namespace loci::io {
namespace {

constexpr size_t kBytes = size_t{64} << 20;

TEST(PageOut, GivesPagesOfAFileBackAndKeepsTheNumbers) {
  const auto path =
      std::filesystem::path(::testing::TempDir()) / fmt::format("loci_page_out_{}", ::getpid());
  write_file(path, std::string(kBytes, 'x'));
  const at::Tensor tensor =
      tensor_over(map_file(path), at::kByte, std::vector<int64_t>{int64_t{kBytes}}, "here");
  const int64_t sum = tensor.sum().item<int64_t>();
  const auto before = process_memory();
  page_out(tensor);
  const auto after = process_memory();
  EXPECT_EQ(tensor.sum().item<int64_t>(), sum);
  std::filesystem::remove(path);
  if (!before || !after || after->now + kBytes / 2 > before->now) {
    GTEST_SKIP() << "this system does not page out when asked to";
  }
}

TEST(PageOut, LeavesOtherMemoryAsItIs) {
  const at::Tensor numbers = at::arange(1 << 20), copy = numbers.clone();
  page_out(numbers);
  page_out(numbers.slice(0, 0, 1 << 20, 2));
  page_out(numbers.narrow(0, 1, 3));
  EXPECT_TRUE(at::equal(numbers, copy));
}

}  // namespace
}  // namespace loci::io
