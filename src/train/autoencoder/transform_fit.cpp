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

// Mean and covariance of the blocks of one kind.
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

// Sets z = analysis x + shift and its inverse x = synthesis z + bias, with the bias for which the
// mean of the blocks is reconstructed exactly.
void set(const BlockTransform::Map& map, const at::Tensor& analysis, const at::Tensor& shift,
         const at::Tensor& synthesis, const at::Tensor& mean) {
  map.analysis.copy_(analysis);
  map.analysis_bias.copy_(shift);
  map.synthesis.copy_(synthesis);
  map.synthesis_bias.copy_(mean - at::mv(synthesis, at::mv(analysis, mean) + shift));
}

// Moments of the blocks of clips and of single images.
struct BlockMoments {
  Moments clip, image;
};

BlockMoments block_moments(const BlockTransform& transform, VideoClips& clips, int64_t count) {
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
    fail("{} blocks are too few for {} components; raise transform_clips", moments.clip.count(),
         channels);
  }
  return moments;
}

struct Components {
  at::Tensor directions;  // [count, numbers], unit length, in descending order of deviation
  at::Tensor deviation;   // [count], standard deviation along each direction
};

// The first `count` principal components.
Components principal_components(const at::Tensor& covariance, int64_t count) {
  const auto [values, vectors] = at::linalg_eigh(covariance);  // ascending eigenvalues
  at::Tensor directions = vectors.narrow(1, vectors.size(1) - count, count).flip(1).t();
  // The sign of an eigenvector depends on the machine. The largest entry is made positive.
  const at::Tensor largest = directions.gather(1, directions.abs().argmax(1, /*keepdim=*/true));
  return {directions * largest.sign(),
          values.narrow(0, values.size(0) - count, count).flip(0).clamp_min(1e-8).sqrt()};
}

// Sets the maps of clips and of images. Arguments are those of the map of clips.
void set_maps(const BlockTransform& transform, const at::Tensor& analysis, const at::Tensor& shift,
              const at::Tensor& synthesis, const BlockMoments& moments) {
  const int64_t channels = analysis.size(0);
  set(transform.clip, analysis, shift, synthesis, moments.clip.mean());
  // A clip of equal frames has the latent `still` x + shift.
  const at::Tensor still =
      analysis.reshape({channels, 3, transform.clip.frames, transform.side * transform.side})
          .sum(2)
          .flatten(1);  // [z, 3ss]
  // Covariance of latents and pixels of images, [z, 3ss].
  const at::Tensor shared = at::matmul(still, moments.image.covariance());
  // The latents of images have almost no variance in channels that represent motion. The constant
  // on the diagonal keeps the system of equations well-conditioned.
  const at::Tensor latent = at::matmul(shared, still.t()) + 1e-4 * at::eye(channels, at::kDouble);
  set(transform.image, still, shift, at::linalg_solve(latent, shared).t(), moments.image.mean());
}

}  // namespace

void fit_transform(model::Vae& vae, VideoClips& clips, int64_t count) {
  const at::NoGradGuard no_grad;
  LOCI_CHECK(vae.transform().has_value(), "the autoencoder has no transform");
  const BlockMoments moments = block_moments(*vae.transform(), clips, count);
  const auto [directions, deviation] =
      principal_components(moments.clip.covariance(), vae.config().z_dim);
  // The deviation of a latent channel is proportional to the square root of the deviation of its
  // component. With equal deviations, unpredictable fine detail would be generated at the same
  // noise levels and with the same strength as the layout of a scene. With the deviations of the
  // components, fine detail would be weaker than the noise of the commit pass.
  const at::Tensor scale = deviation.sqrt() / deviation.mean().sqrt();
  const at::Tensor analysis = directions * (scale / deviation).unsqueeze(1);
  set_maps(*vae.transform(), analysis, -at::mv(analysis, moments.clip.mean()),
           directions.t() * (deviation / scale), moments);
}

void extend_transform(model::Vae& vae, int64_t kept, VideoClips& clips, int64_t count) {
  const at::NoGradGuard no_grad;
  LOCI_CHECK(vae.transform().has_value(), "the autoencoder has no transform");
  const BlockTransform& transform = *vae.transform();
  const BlockMoments moments = block_moments(transform, clips, count);
  const at::Tensor covariance = moments.clip.covariance();
  const at::Tensor analysis = transform.clip.analysis.narrow(0, 0, kept).to(at::kDouble);
  const at::Tensor synthesis = transform.clip.synthesis.narrow(1, 0, kept).to(at::kDouble);
  // Maps a block to the residual that the kept channels leave.
  const at::Tensor rest =
      at::eye(covariance.size(0), at::kDouble) - at::matmul(synthesis, analysis);
  const auto [directions, deviation] =
      principal_components(at::matmul(at::matmul(rest, covariance), rest.t()),
                           vae.config().z_dim - kept);
  // For a component of deviation d, the latent channel has the deviation f sqrt(d), and its column
  // of the synthesis has the length sqrt(d) / f. New channels use the factor f of the kept ones.
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
  transform.image.analysis.narrow(0, 0, kept).copy_(image);  // the stored values, not recomputed
}

}  // namespace loci::train
