// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of images and videos: images, folders, and the check of errors.
#pragma once

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/error.h"
#include "loci/base/file.h"

namespace loci::io {

inline std::filesystem::path media(const std::string& name) {
  return std::filesystem::path(LOCI_TEST_DATA) / "io" / "media" / name;
}

// Every test has its own folder, which is removed afterwards.
class MediaTest : public ::testing::Test {
 protected:
  MediaTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("loci_" + std::string(test->test_suite_name()) + "_" + test->name() + "_" +
               std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~MediaTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path file(const std::string& name) const { return folder_ / name; }

  std::filesystem::path save(const std::string& name, std::string_view content) const {
    write_file(file(name), content);
    return file(name);
  }

  // The names in the folder, including hidden files.
  std::vector<std::string> listing() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

 private:
  std::filesystem::path folder_;
};

// Runs `action`, which must throw a bad-input error with a one-line message that contains `part`.
template <typename Action>
void expect_bad_input(Action action, const std::string& part) {
  try {
    action();
    ADD_FAILURE() << "no error that says '" << part << "'";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << error.what();
    EXPECT_THAT(error.what(), ::testing::HasSubstr(part));
    EXPECT_THAT(error.what(), ::testing::Not(::testing::HasSubstr("\n")));
  }
}

// The `pattern` of make_media.py.
inline at::Tensor pattern(int64_t height, int64_t width) {
  const at::Tensor y = at::arange(height).view({height, 1}).expand({height, width});
  const at::Tensor x = at::arange(width).view({1, width}).expand({height, width});
  return at::stack({x * 5, y * 7, (x + y) * 3}, 2).remainder(256).to(at::kByte);
}

// A frame of a clip: moving gradients with a checkerboard in the middle.
inline at::Tensor moving_picture(int64_t height, int64_t width, int64_t time) {
  const at::Tensor y = at::arange(height).view({height, 1}).expand({height, width});
  const at::Tensor x = at::arange(width).view({1, width}).expand({height, width});
  const at::Tensor red = (x * 255).div(width, "floor");
  const at::Tensor green = (y * 255).div(height, "floor");
  const at::Tensor blue = ((x + y + 4 * time).remainder(128) - 64).abs() * 3;
  at::Tensor image = at::stack({red, green, blue}, 2).to(at::kByte).contiguous();
  const at::Tensor board = (x.div(8, "floor") + y.div(8, "floor") + time).remainder(2) * 200 + 20;
  image.slice(0, height / 4, height / 2)
      .slice(1, width / 4, width / 2)
      .copy_(board.slice(0, height / 4, height / 2).slice(1, width / 4, width / 2).unsqueeze(2));
  return image;
}

inline int64_t largest_difference(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return 256;
  return (a.to(at::kInt) - b.to(at::kInt)).abs().max().item<int64_t>();
}

inline double psnr(const at::Tensor& a, const at::Tensor& b) {
  const double error = (a.to(at::kDouble) - b.to(at::kDouble)).square().mean().item<double>();
  return 10 * std::log10(255.0 * 255.0 / std::max(error, 1e-9));
}

}  // namespace loci::io
