// SPDX-License-Identifier: Apache-2.0
#include "loci/train/transform_fit.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/progress.h"
#include "loci/model/pixels.h"

namespace loci::train {

namespace {

using model::BlockTransform;

// Blocks of one kind, summed up.
class Moments {
 public:
  explicit Moments(int64_t numbers)
      : sum_(at::zeros({numbers}, at::kDouble)), squares_(at::zeros({numbers, numbers})) {}

  void add(const at::Tensor& blocks) {
    const at::Tensor rows = blocks.flatten(0, -2);
    sum_.add_(rows.sum(0).to(at::kDouble));
    squares_.addmm_(rows.t(), rows);
    count_ += rows.size(0);
  }
  at::Tensor mean() const { return sum_ / static_cast<double>(count_); }
  at::Tensor covariance() const {
    return squares_.to(at::kDouble) / static_cast<double>(count_) - at::outer(mean(), mean());
  }
  int64_t count() const { return count_; }

 private:
  at::Tensor sum_, squares_;
  int64_t count_ = 0;
};

// z = analysis x + shift, and back so that the mean stays the mean.
void set(const BlockTransform::Map& map, const at::Tensor& analysis, const at::Tensor& shift,
         const at::Tensor& synthesis, const at::Tensor& mean) {
  map.analysis.copy_(analysis);
  map.analysis_bias.copy_(shift);
  map.synthesis.copy_(synthesis);
  map.synthesis_bias.copy_(mean - at::mv(synthesis, at::mv(analysis, mean) + shift));
}

}  // namespace

void fit_transform(model::Vae& vae, VideoClips& clips, int64_t count) {
  const at::NoGradGuard no_grad;
  LOCI_CHECK(vae.transform().has_value(), "the autoencoder has no transform");
  const BlockTransform& transform = *vae.transform();
  const int64_t side = transform.side, frames = transform.clip.frames;
  const int64_t channels = vae.config().z_dim;
  Moments clip(transform.clip.analysis.size(1)), image(transform.image.analysis.size(1));
  Progress progress("block transform", static_cast<uint64_t>(count), "clips");
  for (int64_t i = 0; i < count; ++i) {
    check_interrupt();
    const at::Tensor pixels =
        model::pixels_from_frames(clips.clip(static_cast<uint64_t>(i), 1 + 2 * frames).frames);
    image.add(BlockTransform::blocks(pixels.narrow(2, 0, 1), 1, side));
    clip.add(BlockTransform::blocks(pixels.narrow(2, 1, 2 * frames), frames, side));
    progress.advance();
  }
  if (clip.count() < channels) {
    fail("{} blocks are too few to find {} components in; take more clips", clip.count(), channels);
  }
  const auto [values, vectors] = at::linalg_eigh(clip.covariance());  // rising
  at::Tensor components =
      vectors.narrow(1, vectors.size(1) - channels, channels).flip(1).t();  // [z, numbers]
  // Which of the two directions of a component is found depends on the machine.
  const at::Tensor largest = components.gather(1, components.abs().argmax(1, /*keepdim=*/true));
  components = components * largest.sign();
  const at::Tensor deviation =
      values.narrow(0, values.size(0) - channels, channels).flip(0).clamp_min(1e-8).sqrt();
  // Half of the spectrum is kept: at deviation 1 all round, every detail that a model cannot know
  // would be made up at full strength as early as the places of things; as they are, the finest
  // would drown in the noise that a stream's past is stored with.
  const at::Tensor scale = deviation.sqrt() / deviation.mean().sqrt();
  const at::Tensor analysis = components * (scale / deviation).unsqueeze(1);
  const at::Tensor shift = -at::mv(analysis, clip.mean());
  set(transform.clip, analysis, shift, components.t() * (deviation / scale), clip.mean());

  const at::Tensor still =
      analysis.reshape({channels, 3, frames, side * side}).sum(2).flatten(1);  // [z, 3ss]
  const at::Tensor shared = at::matmul(still, image.covariance());             // latent by pixel
  // A channel that only motion has is next to nothing in an image; it must not be divided by.
  const at::Tensor latent = at::matmul(shared, still.t()) + 1e-4 * at::eye(channels, at::kDouble);
  set(transform.image, still, shift, at::linalg_solve(latent, shared).t(), image.mean());
}

}  // namespace loci::train
