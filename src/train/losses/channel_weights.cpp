// SPDX-License-Identifier: Apache-2.0
#include "loci/train/losses/channel_weights.h"

#include <optional>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/progress.h"

namespace loci::train {

namespace {

constexpr int64_t kWeightWindows = 4;
constexpr int64_t kWeightLatents = 3;
constexpr double kNoise = 0.5;
constexpr int64_t kWindowsForDeviations = 64;

}  // namespace

ChannelWeightsConfig ChannelWeightsConfig::from(const ConfigReader& reader) {
  ChannelWeightsConfig config;
  config.vae = reader.get<std::string>("vae", "");
  config.power = reader.get<double>("power", config.power, 0.0, 2.0);
  return config;
}

at::Tensor decoder_channel_weights(const model::Vae& vae, const WindowSource& source, double power,
                                   Communicator& communicator) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> windows;
  for (int64_t i = 0; i < kWeightWindows; ++i) {
    windows.push_back(source.window(static_cast<uint64_t>(i), kWeightLatents).latents);
  }
  const at::Tensor latents = at::stack(windows);
  const int64_t channels = latents.size(1);
  if (channels != vae.config().z_dim) {
    fail(
        "channel_weights.vae: the autoencoder has {} channels, the latents have {}; name the "
        "autoencoder that encoded them",
        vae.config().z_dim, channels);
  }
  const auto decoded = [&vae](const at::Tensor& x) { return vae.decode(vae.denormalise(x)); };
  const at::Tensor picture = decoded(latents);
  const at::Generator generator = at::detail::createCPUGenerator(0);
  std::optional<Progress> progress;
  if (communicator.leader()) {
    progress.emplace("channel weights", static_cast<uint64_t>(channels), "channels");
  }
  at::Tensor error = at::zeros({channels}, at::kFloat);
  for (int64_t c = 0; c < channels; ++c) {
    check_interrupt();
    at::Tensor disturbed = latents.clone();
    at::Tensor channel = disturbed.select(1, c);
    // Every rank draws the noise, so that it does not depend on the number of ranks.
    channel.add_(at::randn(channel.sizes(), generator, channel.options()), kNoise);
    if (c % communicator.size() == communicator.rank()) {
      error[c] = (decoded(disturbed) - picture).square().mean();
    }
    if (progress) progress->advance();
  }
  communicator.all_reduce_mean(error);  // the division by the number of ranks cancels below
  const at::Tensor weights = error.pow(power);
  return weights / weights.mean();
}

std::vector<double> channel_deviations(const WindowSource& source) {
  std::vector<at::Tensor> windows;
  for (int64_t i = 0; i < kWindowsForDeviations; ++i) {
    windows.push_back(source.window(static_cast<uint64_t>(i), kWeightLatents).latents);
  }
  const at::Tensor deviation =
      at::stack(windows, 1).flatten(1).to(at::kDouble).std(1).clamp_min(1e-3).contiguous();
  return {deviation.const_data_ptr<double>(),
          deviation.const_data_ptr<double>() + deviation.numel()};
}

}  // namespace loci::train
