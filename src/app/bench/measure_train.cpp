// SPDX-License-Identifier: Apache-2.0
#include "loci/app/bench/measure_train.h"

#include <algorithm>
#include <chrono>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/camera/path/presets.h"
#include "loci/camera/path/resample.h"
#include "loci/io/tensors/safetensors.h"
#include "loci/model/transformer/map_tensors.h"
#include "loci/train/windows/window_stages.h"

namespace loci::app {

namespace {

using Clock = std::chrono::steady_clock;

at::Tensor random(at::IntArrayRef shape, uint64_t seed) {
  return at::randn(shape, at::make_generator<at::CPUGeneratorImpl>(seed), at::kFloat);
}

train::Window random_window(const model::TransformerConfig& config,
                            const TrainBenchOptions& options) {
  const camera::Trajectory path = camera::latent_poses(camera::make_preset("look_around"));
  if (static_cast<int64_t>(path.cameras.size()) < options.window) {
    fail("a window of {} latents is too long; choose at most {}", options.window,
         path.cameras.size());
  }
  train::Window window;
  window.latents = random({config.channels, options.window, options.height, options.width}, 1);
  window.cameras.assign(path.cameras.begin(), path.cameras.begin() + options.window);
  return window;
}

void write_case(const std::filesystem::path& file, const model::Transformer& transformer,
                const train::WindowPass& pass, const at::Tensor& text) {
  io::NamedTensors tensors = {{"in.latents", pass.batch.latents},
                              {"in.timesteps", pass.batch.timesteps},
                              {"in.target", pass.batch.target},
                              {"in.text", text}};
  for (const auto& [name, tensor] : transformer.parameters().all()) {
    tensors.emplace_back("weight." + name, tensor.detach().contiguous());
  }
  for (auto& named : model::map_tensors(pass.maps)) tensors.push_back(std::move(named));
  io::write_safetensors(file, tensors, {{"loci.config", transformer.config().to_json().dump()}});
}

}  // namespace

TrainBenchResult measure_training(const model::TransformerConfig& config,
                                  const TrainBenchOptions& options) {
  const camera::TimeGrid grid{.latents_per_chunk = config.chunk_size};
  if (options.window < 2 || !grid.whole_chunks(options.window)) {
    fail("a window of {} latents; expected 1 + a multiple of {}", options.window,
         config.chunk_size);
  }
  auto parameters = std::make_shared<model::Parameters>(model::Parameters::Options{.seed = 1});
  model::Transformer transformer(config, parameters);
  if (options.bf16) transformer.set_compute_type(at::kBFloat16);
  const train::Window window = random_window(config, options);
  const train::WindowPass pass = train::prepare_window(window, config, train::WindowStages{}, 2);
  const at::Tensor text = random({1, config.text_len, config.text_dim}, 3);
  if (!options.case_file.empty()) write_case(options.case_file, transformer, pass, text);
  parameters->set_requires_grad(true);

  TrainBenchResult result;
  result.parameters = static_cast<int64_t>(parameters->count());
  std::vector<double> seconds;
  for (int64_t i = 0; i <= options.repeats; ++i) {
    check_interrupt();
    for (const model::Parameter& parameter : parameters->all()) {
      parameter.tensor.mutable_grad() = at::Tensor();
    }
    const Clock::time_point begun = Clock::now();
    const at::Tensor loss = train::chunk_losses(train::run_window(transformer, pass, text),
                                                pass.batch.target, config.chunk_size)
                                .mean();
    loss.backward();
    if (i > 0) seconds.push_back(std::chrono::duration<double>(Clock::now() - begun).count());
    result.loss = loss.item<double>();
  }
  double squares = 0;
  for (const model::Parameter& parameter : parameters->all()) {
    const at::Tensor& gradient = parameter.tensor.grad();
    if (gradient.defined()) squares += gradient.to(at::kDouble).square().sum().item<double>();
  }
  result.gradient_norm = std::sqrt(squares);
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
  result.seconds = seconds[seconds.size() / 2];
  return result;
}

}  // namespace loci::app
