// SPDX-License-Identifier: Apache-2.0
// The autoencoder of the golden case, with random weights, and helpers of its tests.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loci/io/tensors/safetensors.h"
#include "loci/model/autoencoder/vae.h"

namespace loci::model {

inline std::filesystem::path test_data(const std::string& name) {
  return std::filesystem::path(LOCI_TEST_DATA) / name;
}

// Wan's depth with 8 to 48 channels; 16x16x4 pixels per latent of 6 channels. Clip [1, 3, 17, 32,
// 64].
struct GoldenVae {
  io::SafetensorsFile file = io::SafetensorsFile::open(test_data("golden/vae_a.safetensors"));
  VaeConfig config =
      VaeConfig::from_json(parse_json(file.metadata().at("loci.config"), "vae_a"), "vae_a");
  std::filesystem::path weights = test_data("golden/weights_vae_a.safetensors");
  Vae vae;
  at::Tensor video = file.tensor("in.video").unsqueeze(0);
  at::Tensor latent = file.tensor("out.latent").unsqueeze(0);
  at::Tensor decoded = file.tensor("out.video").unsqueeze(0);

  explicit GoldenVae(at::ScalarType dtype = at::kFloat)
      : vae(Vae::load(config, weights, {.dtype = dtype})) {}
};

// A temporary folder of the running test, removed at its end.
class TestFolder {
 public:
  TestFolder()
      : path_(std::filesystem::path(::testing::TempDir()) /
              fmt::format("loci_model_{}", ::getpid())) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

}  // namespace loci::model
