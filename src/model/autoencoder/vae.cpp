// SPDX-License-Identifier: Apache-2.0
#include "loci/model/autoencoder/vae.h"

#include <map>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/io/tensors/checkpoint.h"
#include "loci/io/tensors/safetensors.h"
#include "loci/model/autoencoder/vae_names.h"

namespace loci::model {

namespace fs = std::filesystem;

namespace {

constexpr const char* kWeightsStem = "diffusion_pytorch_model";

// The config for the weights at `path`. The config.json in a folder of the original release belongs
// to the transformer.
VaeConfig find_config(const fs::path& path) {
  const bool folder = fs::is_directory(path);
  const fs::path file = (folder ? path : path.parent_path()) / "config.json";
  if (fs::exists(file)) {
    const Json json = load_json(file);
    if (json.is_object() && json.value("_class_name", Json()) == "AutoencoderKLWan") {
      return VaeConfig::from_json(json, file.string());
    }
  }
  if (folder) {
    fail(
        "{} has no config.json of an AutoencoderKLWan; give the autoencoder's folder or its "
        "weights file",
        path.string());
  }
  return VaeConfig::wan22();
}

at::Tensor channels_first(const at::Tensor& x) { return x.permute({1, 4, 0, 2, 3}); }
at::Tensor channels_last(const at::Tensor& x) { return x.permute({2, 0, 3, 4, 1}).contiguous(); }

// The posterior starts with a standard deviation of 0.08. Noise as large as the signal would
// dominate the first updates.
constexpr double kFirstLogVariance = -5;

// Standard deviation in model space that is used as the posterior's if a transform encodes. The
// decoder learns to tolerate errors of this size.
constexpr double kTransformNoise = 0.05;

void start_quant_bias(at::Tensor& bias, at::Generator&) {
  const int64_t half = bias.size(0) / 2;
  bias.zero_();
  bias.narrow(0, half, half).fill_(kFirstLogVariance);
}

std::optional<BlockTransform> make_transform(Parameters& parameters, const VaeConfig& config) {
  if (!config.block_transform) return std::nullopt;
  return BlockTransform(parameters, config);
}

std::optional<EncoderNetwork> make_encoder(Parameters& parameters, const VaeConfig& config) {
  if (!config.has_encoder()) return std::nullopt;
  return EncoderNetwork(Scope(parameters, "encoder"), config);
}

std::optional<PointConv> make_quant_conv(Parameters& parameters, const VaeConfig& config) {
  if (config.block_transform) return std::nullopt;
  return PointConv(Scope(parameters, "quant_conv"), 2 * config.z_dim, 2 * config.z_dim,
                   start_quant_bias);
}

std::optional<Refiner> make_refiner(Parameters& parameters, const VaeConfig& config) {
  if (config.refiner_dim == 0) return std::nullopt;
  return Refiner(Scope(parameters, "decoder")["refiner"], config);
}

Parameters::Options parameter_options(const VaeOptions& options) {
  return {.dtype = options.dtype, .device = options.device, .seed = options.seed};
}

}  // namespace

Vae::Vae(const VaeConfig& config, std::unique_ptr<Parameters> parameters)
    : config_(config),
      parameters_(std::move(parameters)),
      compute_(parameters_->options().dtype),
      transform_(make_transform(*parameters_, config_)),
      encoder_(make_encoder(*parameters_, config_)),
      quant_conv_(make_quant_conv(*parameters_, config_)),
      post_quant_conv_(Scope(*parameters_, "post_quant_conv"), config_.z_dim, config_.z_dim),
      decoder_(Scope(*parameters_, "decoder"), config_),
      refiner_(make_refiner(*parameters_, config_)) {}

Vae::Vae(const VaeConfig& config, const VaeOptions& options)
    : Vae(config, std::make_unique<Parameters>(parameter_options(options))) {}

Vae Vae::load(const fs::path& path, const VaeOptions& options) {
  return load(find_config(path), path, options);
}

Vae Vae::load(const VaeConfig& config, const fs::path& weights, const VaeOptions& options) {
  const io::Checkpoint checkpoint = io::Checkpoint::open(weights);
  std::map<std::string, std::string> stored;  // parameter name → name in the file
  for (const std::string& name : checkpoint.names()) stored.emplace(vae_name_from_wan(name), name);
  const auto find = [&](const std::string& name, bool sketch) {
    const auto found = stored.find(name);
    if (found == stored.end()) return at::Tensor();
    return sketch ? checkpoint.meta(found->second) : checkpoint.tensor(found->second);
  };
  std::vector<std::string> available;
  for (const auto& [name, in_file] : stored) available.push_back(name);
  return assemble(config, available, find, checkpoint.path().string(), options);
}

Vae Vae::from_tensors(const VaeConfig& config, const std::map<std::string, at::Tensor>& tensors,
                      const std::string& source, const VaeOptions& options) {
  std::vector<std::string> available;
  for (const auto& [name, tensor] : tensors) available.push_back(name);
  const auto find = [&](const std::string& name, bool sketch) {
    const auto found = tensors.find(name);
    if (found == tensors.end()) return at::Tensor();
    return sketch ? found->second : found->second.clone();
  };
  return assemble(config, available, find, source, options);
}

Vae Vae::assemble(const VaeConfig& config, const std::vector<std::string>& available,
                  const TensorLookup& find, const std::string& source, const VaeOptions& options) {
  {
    // Checked on meta tensors first, so that weights that do not fit are rejected before memory is
    // allocated.
    const auto sketch_tensor = [&](const std::string& name) { return find(name, true); };
    const Vae sketch(
        config, std::make_unique<Parameters>(Parameters::Options{.device = at::kMeta, .seed = 0},
                                             sketch_tensor));
    const LoadReport report = sketch.parameters().report(available);
    if (!report.clean())
      fail("{} does not fit the autoencoder's config: {}", source, report.text());
  }
  const auto tensor = [&](const std::string& name) { return find(name, false); };
  Vae vae(config, std::make_unique<Parameters>(parameter_options(options), tensor));
  vae.parameters_->release_source();
  return vae;
}

void Vae::save(const fs::path& folder, at::ScalarType dtype) const {
  io::NamedTensors tensors;
  for (const Parameter& parameter : parameters_->all()) {
    tensors.emplace_back(parameter.name, parameter.tensor.detach().to(dtype));
  }
  io::write_safetensors(folder / (std::string(kWeightsStem) + ".safetensors"), tensors,
                        {{"format", "pt"}});
  write_file(folder / "config.json", config_.to_json().dump(2) + "\n");
}

void Vae::set_statistics(std::vector<double> mean, std::vector<double> deviation) {
  LOCI_CHECK(std::ssize(mean) == config_.z_dim && std::ssize(deviation) == config_.z_dim,
             "{} means and {} deviations for {} channels", mean.size(), deviation.size(),
             config_.z_dim);
  config_.latents_mean = std::move(mean);
  config_.latents_std = std::move(deviation);
}

void Vae::use_decoder(std::shared_ptr<const TinyDecoder> decoder) {
  decoder->check(config_);
  tiny_decoder_ = std::move(decoder);
}

Vae::Posterior Vae::encode(const at::Tensor& pixels, const VaePass& pass) const {
  LOCI_CHECK(pixels.dim() == 5, "pixels have {} dimensions, expected [B, 3, T, H, W]",
             pixels.dim());
  if (pixels.size(1) != 3) fail("pixels have {} channels; expected 3 (RGB)", pixels.size(1));
  config_.check_frame_size(pixels.size(3), pixels.size(4));
  const int64_t factor = config_.temporal_factor();
  const int64_t frames = pixels.size(2), whole = pass.first() ? frames - 1 : frames;
  if (frames == 0 || whole < 0 || whole % factor != 0) {
    fail("{} frames cannot be encoded; expected {} of {}", frames,
         pass.first() ? "1 plus a multiple" : "a multiple", factor);
  }
  if (transform_) {
    at::Tensor z = transform_->encode(pixels, pass.first());
    if (encoder_) z = z + encode_patches(pixels, pass).to(at::kFloat);
    z = channels_first(z);
    if (pass.cache != nullptr) pass.cache->count(z.size(2));
    return {z, transform_log_variance(z)};
  }
  const at::Tensor x = encode_patches(pixels, pass);
  const std::vector<at::Tensor> parts = (*quant_conv_)(x).to(at::kFloat).chunk(2, -1);
  if (pass.cache != nullptr) pass.cache->count(x.size(0));
  return {channels_first(parts[0]), channels_first(parts[1])};
}

at::Tensor Vae::encode_patches(const at::Tensor& pixels, const VaePass& pass) const {
  return (*encoder_)(patchify(pixels.to(compute_), config_.patch_size), pass);
}

at::Tensor Vae::decode(const at::Tensor& latents, const VaePass& pass) const {
  LOCI_CHECK(latents.dim() == 5, "latents have {} dimensions, expected [B, z, T, h, w]",
             latents.dim());
  if (latents.size(1) != config_.z_dim) {
    fail("latents have {} channels; this autoencoder expects {}", latents.size(1), config_.z_dim);
  }
  const at::Tensor last = channels_last(latents);
  at::Tensor beneath;
  if (transform_) beneath = transform_->decode(last, pass.first());
  at::Tensor patches = decoder_(post_quant_conv_(last.to(compute_)), pass).to(at::kFloat);
  if (refiner_) {
    // The refiner adds to the picture of the network and the transform.
    if (beneath.defined())
      patches = add_to(std::move(patches), patchify(beneath, config_.patch_size));
    beneath.reset();
    const at::Tensor more = (*refiner_)(patches.to(compute_), pass);
    patches = add_to(std::move(patches), more.to(at::kFloat));
  }
  if (pass.cache != nullptr) pass.cache->count(latents.size(2));
  const at::Tensor pixels = unpatchify(patches, config_.patch_size);
  return beneath.defined() ? add_to(beneath, pixels) : pixels;
}

at::Tensor Vae::transform_log_variance(const at::Tensor& mean) const {
  return (2 * at::log(kTransformNoise * statistics(config_.latents_std, mean))).expand_as(mean);
}

at::Tensor Vae::statistics(const std::vector<double>& values, const at::Tensor& like) const {
  return at::tensor(values, at::kFloat).to(like.device()).view({1, config_.z_dim, 1, 1, 1});
}

at::Tensor Vae::normalise(const at::Tensor& mean) const {
  return (mean - statistics(config_.latents_mean, mean)) / statistics(config_.latents_std, mean);
}

at::Tensor Vae::denormalise(const at::Tensor& latents) const {
  return latents.to(at::kFloat) * statistics(config_.latents_std, latents) +
         statistics(config_.latents_mean, latents);
}

}  // namespace loci::model
