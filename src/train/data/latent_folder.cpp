// SPDX-License-Identifier: Apache-2.0
#include "loci/train/data/latent_folder.h"

#include <algorithm>
#include <set>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/random.h"
#include "loci/sample/stream/finite.h"

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

namespace {

// Throws unless the file has the tensors of a clip.
void check_shapes(const io::SafetensorsFile& stored) {
  const std::vector<int64_t>& latents = stored.info("latents").shape;
  const std::vector<int64_t>& c2w = stored.info("c2w").shape;
  if (latents.size() == 4 && stored.info("images").shape == latents && c2w.size() == 3 &&
      c2w[0] == latents[1] && c2w[1] == 3 && c2w[2] == 4 &&
      stored.info("lens").shape == std::vector<int64_t>{c2w[0], 2}) {
    return;
  }
  fail("{}: not a latent clip: latents and images must be [C, F, h, w], c2w [F, 3, 4], lens [F, 2]",
       stored.file().name());
}

std::vector<camera::Camera> read_cameras(const io::SafetensorsFile& stored) {
  const at::Tensor c2w = stored.tensor("c2w").to(at::kDouble);
  const at::Tensor lens = stored.tensor("lens").to(at::kDouble);
  if (!sample::all_finite(c2w) || !sample::all_finite(lens)) {
    fail("{}: a camera has NaN or infinite values; encode the clip again or remove it",
         stored.file().name());
  }
  const auto m = c2w.accessor<double, 3>();
  const auto l = lens.accessor<double, 2>();
  std::vector<camera::Camera> cameras;
  for (int64_t f = 0; f < c2w.size(0); ++f) {
    camera::Pose pose;
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) pose.rotation(r, c) = m[f][r][c];
    }
    pose.position = {m[f][0][3], m[f][1][3], m[f][2][3]};
    cameras.push_back({pose, {.fov_x = l[f][0], .xi = l[f][1], .normalised = {}}});
  }
  return cameras;
}

std::string caption_of(const io::SafetensorsFile& stored) {
  const auto caption = stored.metadata().find("caption");
  return caption == stored.metadata().end() ? std::string() : caption->second;
}

// A NaN would spread over the window and look like a training run that diverges. `latents` are
// [C, F, h, w]; `first` is the latent frame of the clip that they begin with.
void require_finite(const at::Tensor& latents, int64_t first, std::string_view tensor,
                    const std::string& file) {
  if (sample::all_finite(latents)) return;
  int64_t frame = 0;
  while (sample::all_finite(latents.select(1, frame))) ++frame;
  fail("{}: {} of latent frame {} have NaN or infinite values; encode the clip again or remove it",
       file, tensor, first + frame);
}

}  // namespace

LatentClip read_latent_clip(const fs::path& file) {
  const io::SafetensorsFile stored = io::SafetensorsFile::open(file);
  check_shapes(stored);
  return {stored.tensor("latents"), stored.tensor("images"), read_cameras(stored),
          caption_of(stored)};
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
    const io::SafetensorsFile stored = io::SafetensorsFile::open(file);
    check_shapes(stored);
    clips_.push_back({stored.info("latents").shape, read_cameras(stored), caption_of(stored),
                      stored.file().version()});
    const std::vector<int64_t>& first = clips_.front().shape;
    const std::vector<int64_t>& shape = clips_.back().shape;
    if (shape[0] != first[0] || shape[2] != first[2] || shape[3] != first[3]) {
      fail("{}: latents are [{}], but those of the first clip are [{}]; use one size per folder",
           file.string(), fmt::join(shape, ", "), fmt::join(first, ", "));
    }
  }
}

std::vector<int64_t> LatentFolder::latent_shape() const {
  const std::vector<int64_t>& first = clips_.front().shape;
  return {first[0], first[2], first[3]};
}

std::vector<std::string> LatentFolder::captions() const {
  std::set<std::string> all;
  for (const Clip& clip : clips_) all.insert(clip.caption);
  return {all.begin(), all.end()};
}

Window LatentFolder::window(uint64_t index, int64_t frames) const {
  Random random{seed_, index};
  const size_t which = random.below(clips_.size());
  const Clip& clip = clips_[which];
  const std::string name = files_[which].string();
  const auto length = static_cast<int64_t>(clip.cameras.size());
  if (length < frames) {
    fail(
        "{} has {} latent frames, fewer than the window of {}; record longer clips or use a shorter "
        "window",
        name, length, frames);
  }
  const auto start = static_cast<int64_t>(random.below(static_cast<uint64_t>(length - frames + 1)));
  const io::SafetensorsFile stored = io::SafetensorsFile::open(files_[which]);
  if (!stored.file().version().same_content(clip.version)) {
    fail("{} was modified during the run; restore the clip and resume, or start a new run", name);
  }
  Window window;
  window.latents = stored.narrow("latents", 1, start, frames).to(at::kFloat);
  const at::Tensor image = stored.narrow("images", 1, start, 1).to(at::kFloat);
  require_finite(window.latents.narrow(1, 1, frames - 1), start + 1, "latents", name);
  require_finite(image, start, "images", name);
  window.latents.narrow(1, 0, 1).copy_(image);
  window.cameras.assign(clip.cameras.begin() + start, clip.cameras.begin() + start + frames);
  window.caption = clip.caption;
  return window;
}

}  // namespace loci::train
