// SPDX-License-Identifier: Apache-2.0
// Helpers for the tests of tensor files.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/base/error.h"

namespace loci::io {

// A temporary folder, which the destructor removes.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

  // Writes a file directly, without AtomicFile.
  std::filesystem::path write(const std::string& name, std::string_view content) const;

 private:
  std::filesystem::path path_;
};

// tests/data/io/<name>
std::filesystem::path fixture(const std::string& name);

// The values of the fixtures, see tests/data/io/make_fixtures.py.
at::Tensor ramp(at::IntArrayRef shape, at::ScalarType dtype = at::kFloat);

// Whether type, shape and all bytes are equal.
::testing::AssertionResult same(const at::Tensor& actual, const at::Tensor& expected);

// Expects `action` to throw a bad-input error with a one-line message that contains `part`.
void expect_bad_input(const std::function<void()>& action, std::string_view part);

// Runs `action` on copies of a file with single bytes changed and with the end truncated. `action`
// must succeed or throw a bad-input error with a one-line message.
void sweep_damage(const std::filesystem::path& original,
                  const std::function<void(const std::filesystem::path&)>& action);

}  // namespace loci::io
