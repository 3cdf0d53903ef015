// SPDX-License-Identifier: Apache-2.0
#include "loci/train/data/latent_folder.h"

#include <algorithm>
#include <set>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/random.h"

namespace loci::train {

namespace fs = std::filesystem;

void write_latent_clip(const fs::path& file, const LatentClip& clip) {
  const auto frames = static_cast<int64_t>(clip.cameras.size());
  LOCI_CHECK(clip.latents.size(1) == frames && clip.images.sizes() == clip.latents.sizes(),
             "latents and cameras of a clip disagree");
  at::Tensor c2w = at::zeros({frames, 3, 4}, at::kDouble);
  at::Tensor lens = at::zeros({frames, 2}, at::kDouble);
  auto m = c2w.accessor<double, 3>();
  auto l = lens.accessor<double, 2>();
  for (int64_t f = 0; f < frames; ++f) {
    const camera::Pose& pose = clip.cameras[f].pose;
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) m[f][r][c] = pose.rotation(r, c);
    }
    m[f][0][3] = pose.position.x;
    m[f][1][3] = pose.position.y;
    m[f][2][3] = pose.position.z;
    l[f][0] = clip.cameras[f].lens.fov_x;
    l[f][1] = clip.cameras[f].lens.xi;
  }
  io::write_safetensors(
      file, {{"latents", clip.latents}, {"images", clip.images}, {"c2w", c2w}, {"lens", lens}},
      {{"caption", clip.caption}});
}

LatentClip read_latent_clip(const fs::path& file) {
  const io::SafetensorsFile stored = io::SafetensorsFile::open(file);
  LatentClip clip;
  clip.latents = stored.tensor("latents");
  clip.images = stored.tensor("images");
  const at::Tensor c2w = stored.tensor("c2w").to(at::kDouble);
  const at::Tensor lens = stored.tensor("lens").to(at::kDouble);
  if (clip.latents.dim() != 4 || clip.images.sizes() != clip.latents.sizes() || c2w.dim() != 3 ||
      c2w.size(0) != clip.latents.size(1) || c2w.size(1) != 3 || c2w.size(2) != 4 ||
      lens.dim() != 2 || lens.size(0) != c2w.size(0) || lens.size(1) != 2) {
    fail(
        "{}: not a latent clip: latents and images must be [C, F, h, w], c2w [F, 3, 4], lens [F, "
        "2]",
        file.string());
  }
  const auto m = c2w.accessor<double, 3>();
  const auto l = lens.accessor<double, 2>();
  for (int64_t f = 0; f < c2w.size(0); ++f) {
    camera::Pose pose;
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) pose.rotation(r, c) = m[f][r][c];
    }
    pose.position = {m[f][0][3], m[f][1][3], m[f][2][3]};
    clip.cameras.push_back({pose, {.fov_x = l[f][0], .xi = l[f][1], .normalised = {}}});
  }
  const auto caption = stored.metadata().find("caption");
  if (caption != stored.metadata().end()) clip.caption = caption->second;
  return clip;
}

LatentFolder::LatentFolder(const fs::path& folder, uint64_t seed) : seed_(seed) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    // Hidden files are temporary files of a running or killed process.
    if (entry.path().filename().string().starts_with('.')) continue;
    if (entry.path().extension() == ".safetensors") files_.push_back(entry.path());
  }
  if (error) fail("cannot read the folder {}: {}", folder.string(), error.message());
  if (files_.empty()) {
    fail("{} contains no latent clips (*.safetensors); create some with 'loci world encode'",
         folder.string());
  }
  std::sort(files_.begin(), files_.end());
  for (const fs::path& file : files_) {
    clips_.push_back(read_latent_clip(file));
    const at::Tensor& first = clips_.front().latents;
    const at::Tensor& latents = clips_.back().latents;
    if (latents.size(0) != first.size(0) || latents.size(2) != first.size(2) ||
        latents.size(3) != first.size(3)) {
      fail("{}: latents are [{}], but those of the first clip are [{}]; use one size per folder",
           file.string(), fmt::join(latents.sizes(), ", "), fmt::join(first.sizes(), ", "));
    }
  }
}

std::vector<int64_t> LatentFolder::latent_shape() const {
  const at::Tensor& first = clips_.front().latents;
  return {first.size(0), first.size(2), first.size(3)};
}

std::vector<std::string> LatentFolder::captions() const {
  std::set<std::string> all;
  for (const LatentClip& clip : clips_) all.insert(clip.caption);
  return {all.begin(), all.end()};
}

Window LatentFolder::window(uint64_t index, int64_t frames) const {
  Random random{seed_, index};
  const size_t which = random.below(clips_.size());
  const LatentClip& clip = clips_[which];
  const auto length = static_cast<int64_t>(clip.cameras.size());
  if (length < frames) {
    fail(
        "{} has {} latent frames, fewer than the window of {}; record longer clips or use a shorter "
        "window",
        files_[which].string(), length, frames);
  }
  const auto start = static_cast<int64_t>(random.below(static_cast<uint64_t>(length - frames + 1)));
  Window window;
  window.latents = clip.latents.narrow(1, start, frames)
                       .to(at::kFloat, /*non_blocking=*/false,
                           /*copy=*/true);
  window.latents.select(1, 0).copy_(clip.images.select(1, start));
  window.cameras.assign(clip.cameras.begin() + start, clip.cameras.begin() + start + frames);
  window.caption = clip.caption;
  return window;
}

}  // namespace loci::train
