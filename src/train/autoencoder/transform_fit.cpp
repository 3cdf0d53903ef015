// SPDX-License-Identifier: Apache-2.0
#include "loci/train/autoencoder/transform_fit.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/progress.h"
#include "loci/model/autoencoder/pixels.h"

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

// Blocks of both kinds.
struct BlockMoments {
  Moments clip, image;
};

BlockMoments sum_up(const BlockTransform& transform, VideoClips& clips, int64_t count) {
  BlockMoments moments{Moments(transform.clip.analysis.size(1)),
                       Moments(transform.image.analysis.size(1))};
  const int64_t side = transform.side, frames = transform.clip.frames;
  const int64_t channels = transform.clip.analysis.size(0);
  Progress progress("block transform", static_cast<uint64_t>(count), "clips");
  for (int64_t i = 0; i < count; ++i) {
    check_interrupt();
    const at::Tensor pixels =
        model::pixels_from_frames(clips.clip(static_cast<uint64_t>(i), 1 + 2 * frames).frames);
    moments.image.add(BlockTransform::blocks(pixels.narrow(2, 0, 1), 1, side));
    moments.clip.add(BlockTransform::blocks(pixels.narrow(2, 1, 2 * frames), frames, side));
    progress.advance();
  }
  if (moments.clip.count() < channels) {
    fail("{} blocks are too few to find {} components in; take more clips", moments.clip.count(),
         channels);
  }
  return moments;
}

struct Components {
  at::Tensor directions;  // [count, numbers], of length 1, the strongest first
  at::Tensor deviation;   // [count]
};

Components strongest(const at::Tensor& covariance, int64_t count) {
  const auto [values, vectors] = at::linalg_eigh(covariance);  // rising
  at::Tensor directions = vectors.narrow(1, vectors.size(1) - count, count).flip(1).t();
  // Which of the two directions of a component is found depends on the machine.
  const at::Tensor largest = directions.gather(1, directions.abs().argmax(1, /*keepdim=*/true));
  return {directions * largest.sign(),
          values.narrow(0, values.size(0) - count, count).flip(0).clamp_min(1e-8).sqrt()};
}

// Both maps, from a clip's.
void set_maps(const BlockTransform& transform, const at::Tensor& analysis, const at::Tensor& shift,
              const at::Tensor& synthesis, const BlockMoments& moments) {
  const int64_t channels = analysis.size(0);
  set(transform.clip, analysis, shift, synthesis, moments.clip.mean());
  const at::Tensor still =
      analysis.reshape({channels, 3, transform.clip.frames, transform.side * transform.side})
          .sum(2)
          .flatten(1);                                                      // [z, 3ss]
  const at::Tensor shared = at::matmul(still, moments.image.covariance());  // latent by pixel
  // A channel that only motion has is next to nothing in an image; it must not be divided by.
  const at::Tensor latent = at::matmul(shared, still.t()) + 1e-4 * at::eye(channels, at::kDouble);
  set(transform.image, still, shift, at::linalg_solve(latent, shared).t(), moments.image.mean());
}

}  // namespace

void fit_transform(model::Vae& vae, VideoClips& clips, int64_t count) {
  const at::NoGradGuard no_grad;
  LOCI_CHECK(vae.transform().has_value(), "the autoencoder has no transform");
  const BlockMoments moments = sum_up(*vae.transform(), clips, count);
  const auto [directions, deviation] = strongest(moments.clip.covariance(), vae.config().z_dim);
  // Half of the spectrum is kept: at deviation 1 all round, every detail that a model cannot know
  // would be made up at full strength as early as the places of things; as they are, the finest
  // would drown in the noise that a stream's past is stored with.
  const at::Tensor scale = deviation.sqrt() / deviation.mean().sqrt();
  const at::Tensor analysis = directions * (scale / deviation).unsqueeze(1);
  set_maps(*vae.transform(), analysis, -at::mv(analysis, moments.clip.mean()),
           directions.t() * (deviation / scale), moments);
}

void extend_transform(model::Vae& vae, int64_t kept, VideoClips& clips, int64_t count) {
  const at::NoGradGuard no_grad;
  LOCI_CHECK(vae.transform().has_value(), "the autoencoder has no transform");
  const BlockTransform& transform = *vae.transform();
  const BlockMoments moments = sum_up(transform, clips, count);
  const at::Tensor covariance = moments.clip.covariance();
  const at::Tensor analysis = transform.clip.analysis.narrow(0, 0, kept).to(at::kDouble);
  const at::Tensor synthesis = transform.clip.synthesis.narrow(1, 0, kept).to(at::kDouble);
  // Takes a block to what the kept channels leave of it.
  const at::Tensor rest =
      at::eye(covariance.size(0), at::kDouble) - at::matmul(synthesis, analysis);
  const auto [directions, deviation] =
      strongest(at::matmul(at::matmul(rest, covariance), rest.t()), vae.config().z_dim - kept);
  // A latent's deviation is f sqrt(d) for a component's deviation d, and its column of the
  // synthesis is sqrt(d) / f long; f is that of the kept channels.
  const at::Tensor latent_deviation =
      (at::matmul(analysis, covariance) * analysis).sum(1).clamp_min(1e-12).sqrt();
  const at::Tensor factor = (latent_deviation / synthesis.norm(2, 0)).log().mean().exp().sqrt();
  const at::Tensor scale = factor * deviation.sqrt();
  const at::Tensor more = at::matmul(directions * (scale / deviation).unsqueeze(1), rest);
  const at::Tensor shift = transform.clip.analysis_bias.narrow(0, 0, kept).to(at::kDouble);
  const at::Tensor image = transform.image.analysis.narrow(0, 0, kept).clone();
  set_maps(transform, at::cat({analysis, more}),
           at::cat({shift, -at::mv(more, moments.clip.mean())}),
           at::cat({synthesis, directions.t() * (deviation / scale)}, 1), moments);
  transform.image.analysis.narrow(0, 0, kept).copy_(image);  // as it was rounded when it was stored
}

}  // namespace loci::train
