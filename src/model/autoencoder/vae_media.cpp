// SPDX-License-Identifier: Apache-2.0
#include "loci/model/autoencoder/vae_media.h"

#include <optional>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"
#include "loci/base/log.h"
#include "loci/io/media/resize.h"
#include "loci/model/autoencoder/pixels.h"

namespace loci::model {

at::Tensor encode_image(const Vae& vae, const at::Tensor& image, int64_t width, int64_t height,
                        const VaeStreamOptions& options) {
  const at::NoGradGuard no_grad;
  vae.config().check_frame_size(height, width);
  if (image.dim() != 3 || image.scalar_type() != at::kByte || image.size(2) != 3) {
    fail("an image must be uint8 [height, width, 3], got {} [{}]; convert it to RGB",
         at::toString(image.scalar_type()), fmt::join(image.sizes(), ", "));
  }
  const io::FittedImage fitted = io::resize_and_crop(image, width, height);
  if (!fitted.note.empty()) log_info("the image was {}", fitted.note);
  return VaeEncoder(vae, options).encode(pixels_from_frames(fitted.image));
}

at::Tensor encode_video(const Vae& vae, io::FrameSource& source, int64_t width, int64_t height,
                        int64_t most_latents, const VaeStreamOptions& options) {
  const at::NoGradGuard no_grad;
  vae.config().check_frame_size(height, width);
  if (most_latents < 1)
    fail("{} latents of a recording are asked for; take 1 or more", most_latents);
  VaeEncoder encoder(vae, options);
  std::vector<at::Tensor> latents, group;
  bool said = false;
  while (std::ssize(latents) < most_latents) {
    const std::optional<at::Tensor> frame = source.next();
    if (!frame) break;
    io::FittedImage fitted = io::resize_and_crop(*frame, width, height);
    if (!fitted.note.empty() && !said) {
      log_info("the recording's frames were {}", fitted.note);
      said = true;
    }
    group.push_back(std::move(fitted.image));
    if (std::ssize(group) < (latents.empty() ? 1 : vae.config().temporal_factor())) continue;
    latents.push_back(encoder.encode(pixels_from_frames(at::stack(group))));
    group.clear();
  }
  if (latents.empty()) fail("the recording has no frames to encode");
  if (!group.empty()) {
    log_info("the recording's last {} frames were left out: a latent takes {}", group.size(),
             vae.config().temporal_factor());
  }
  return at::cat(latents, 2);
}

}  // namespace loci::model
