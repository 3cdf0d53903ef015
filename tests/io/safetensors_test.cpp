// SPDX-License-Identifier: Apache-2.0
#include "loci/io/safetensors.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace loci::io {
namespace {

TEST(Safetensors, RoundTrip) {
  const std::filesystem::path path = ::testing::TempDir() + "/rt.safetensors";
  const at::Tensor a = at::arange(6, at::kFloat).view({2, 3});
  const at::Tensor b = at::ones({3}, at::kByte);
  write_safetensors(path, {{"b", b}, {"a", a.t()}}, {{"k", "v"}});
  const SafetensorsFile file = SafetensorsFile::open(path);
  EXPECT_TRUE(at::equal(file.tensor("a"), a.t()));
  EXPECT_TRUE(at::equal(file.tensor("b"), b));
  EXPECT_EQ(file.metadata().at("k"), "v");
}

}  // namespace
}  // namespace loci::io
