// SPDX-License-Identifier: Apache-2.0
// Latent clips on disk, one safetensors file per clip.
#pragma once

#include <filesystem>
#include <vector>

#include "loci/io/tensors/safetensors.h"
#include "loci/train/data/window.h"

namespace loci::train {

// A recorded clip in latent space.
//   latents [C, F, h, w]  frame 0 encodes the first image, every later frame four images
//   images  [C, F, h, w]  latent of image 4i alone: the first frame of a window that starts at i
struct LatentClip {
  at::Tensor latents, images;
  std::vector<camera::Camera> cameras;  // one per latent frame
  std::string caption;
};

void write_latent_clip(const std::filesystem::path& file, const LatentClip& clip);
LatentClip read_latent_clip(const std::filesystem::path& file);

// Windows at random positions of the clips in a folder. The latents of a window are read from disk
// when they are needed. A clip that was modified after it was opened is bad input, and so are NaN
// and infinite values; the message names the clip.
class LatentFolder : public WindowSource {
 public:
  // Reads the files "*.safetensors" in the order of their names. An empty folder is bad input.
  LatentFolder(const std::filesystem::path& folder, uint64_t seed);

  // A clip that is shorter than the window is bad input.
  Window window(uint64_t index, int64_t frames) const override;

  size_t clips() const { return clips_.size(); }
  std::vector<std::string> captions() const override;
  // [C, h, w] of the first clip.
  std::vector<int64_t> latent_shape() const;

 private:
  uint64_t seed_;
  struct Clip {
    std::vector<int64_t> shape;  // of the latents
    std::vector<camera::Camera> cameras;
    std::string caption;
    io::FileVersion version;
  };
  std::vector<std::filesystem::path> files_;
  std::vector<Clip> clips_;
};

}  // namespace loci::train
