// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/drift/walk_features.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"
#include "loci/io/tensors/safetensors.h"
#include "loci/model/autoencoder/pixels.h"

namespace loci::eval {

namespace fs = std::filesystem;

namespace {
constexpr int64_t kChannels = 256;
}

WalkFeatures WalkFeatures::in_window(int64_t index) const {
  const at::Tensor rows = at::nonzero(window == index).squeeze(1);
  return {generated.index_select(0, rows), recorded.index_select(0, rows),
          window.index_select(0, rows)};
}

void WalkFeatures::save(const fs::path& file) const {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) {
    fail("{}: cannot create the folder: {}", file.parent_path().string(), error.message());
  }
  io::write_safetensors(file,
                        {{"generated", generated}, {"recorded", recorded}, {"window", window}});
}

WalkFeatures WalkFeatures::load(const fs::path& file) {
  if (!fs::exists(file)) {
    fail("{}: the file is missing; delete the folder parts and run the command again",
         file.string());
  }
  const io::SafetensorsFile tensors = io::SafetensorsFile::open(file);
  WalkFeatures features{tensors.tensor("generated"), tensors.tensor("recorded"),
                        tensors.tensor("window")};
  if (features.window.dim() != 1 || features.window.scalar_type() != at::kLong ||
      features.generated.dim() != 2 || features.generated.size(0) != features.window.size(0) ||
      features.generated.size(1) != kChannels ||
      features.recorded.sizes() != features.generated.sizes()) {
    fail("{}: not the features of a walk; delete the folder parts and run the command again",
         file.string());
  }
  return features;
}

at::Tensor WalkFeatureCollector::of(const at::Tensor& frames) const {
  const at::NoGradGuard no_grad;
  const at::Tensor pictures = model::pixels_from_frames(frames)[0].transpose(0, 1);
  return alex_->features(pictures).back().mean({2, 3});
}

void WalkFeatureCollector::add(int64_t first, const at::Tensor& generated,
                               const at::Tensor& recorded) {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < generated.size(0); ++i) {
    const std::optional<size_t> window = windows_.window_of(first + i);
    const bool last = first + i == time_.camera_frame(time_.latent_of_frame(first + i));
    if (!window || !last) continue;
    rows.push_back(i);
    window_.push_back(static_cast<int64_t>(*window));
  }
  if (rows.empty()) return;
  const at::Tensor index = at::tensor(rows, at::kLong);
  generated_.push_back(of(generated.index_select(0, index)));
  recorded_.push_back(of(recorded.index_select(0, index)));
}

WalkFeatures WalkFeatureCollector::features() const {
  const auto joined = [](const std::vector<at::Tensor>& list) {
    return list.empty() ? at::empty({0, kChannels}) : at::cat(list).contiguous();
  };
  return {joined(generated_), joined(recorded_), at::tensor(window_, at::kLong)};
}

}  // namespace loci::eval
