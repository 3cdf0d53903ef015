// SPDX-License-Identifier: Apache-2.0
// Clips encoded once and kept on disk: one safetensors file a clip.
#pragma once

#include <filesystem>
#include <vector>

#include "loci/io/tensors/safetensors.h"
#include "loci/train/windows/window.h"

namespace loci::train {

// A recorded clip in latent space.
//   latents [C, F, h, w]  frame 0 from the first image, then one for every four images
//   images  [C, F, h, w]  latent of image 4i alone: the first frame of a window that starts at i
struct LatentClip {
  at::Tensor latents, images;
  std::vector<camera::Camera> cameras;  // one per latent frame
  std::string caption;
};

void write_latent_clip(const std::filesystem::path& file, const LatentClip& clip);
LatentClip read_latent_clip(const std::filesystem::path& file);

// Windows at random places of the folder's clips. Files are opened once; their tensors are mapped.
class LatentFolder : public WindowSource {
 public:
  // Files "*.safetensors" in order of their names. An empty folder is bad input.
  LatentFolder(const std::filesystem::path& folder, uint64_t seed);

  // A clip shorter than the window is bad input that names the clip.
  Window window(uint64_t index, int64_t frames) const override;

  size_t clips() const { return clips_.size(); }
  std::vector<std::string> captions() const override;
  // Of the first clip, [C, h, w].
  std::vector<int64_t> latent_shape() const;

 private:
  uint64_t seed_;
  std::vector<std::filesystem::path> files_;
  std::vector<LatentClip> clips_;
};

}  // namespace loci::train
