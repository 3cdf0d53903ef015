// SPDX-License-Identifier: Apache-2.0
// The Wan2.2 video autoencoder: its weights and networks.
//
// Pixels are [B, 3, frames, height, width] in [-1, 1]; latents are [B, z, latents, height/16,
// width/16] in model space, (mean - latents_mean) / latents_std. A clip of 1 + 4n frames has 1 + n
// latents.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/model/autoencoder/block_transform.h"
#include "loci/model/autoencoder/tiny_decoder.h"
#include "loci/model/autoencoder/vae_config.h"
#include "loci/model/autoencoder/vae_network.h"
#include "loci/model/autoencoder/vae_refiner.h"
#include "loci/model/weights/parameters.h"

namespace loci::model {

struct VaeOptions {
  at::ScalarType dtype = at::kFloat;  // type of weights and arithmetic: kFloat or kBFloat16
  at::Device device = at::kCPU;
  uint64_t seed = 0;  // for random weights
};

class Vae {
 public:
  // An autoencoder with random weights.
  explicit Vae(const VaeConfig& config, const VaeOptions& options = {});

  // Loads a folder with config.json and weights, or a weights file (.pth, .safetensors) with the
  // names of Diffusers or of the original release. A file without an autoencoder's config.json in
  // its folder must have the published sizes of Wan2.2. Missing, unexpected and wrongly shaped
  // tensors are bad input; the error lists them.
  static Vae load(const std::filesystem::path& path, const VaeOptions& options = {});
  static Vae load(const VaeConfig& config, const std::filesystem::path& weights,
                  const VaeOptions& options = {});

  // Copies tensors by name; `source` names their origin in messages.
  static Vae from_tensors(const VaeConfig& config, const std::map<std::string, at::Tensor>& tensors,
                          const std::string& source, const VaeOptions& options = {});

  // Writes config.json and diffusion_pytorch_model.safetensors into an existing folder.
  void save(const std::filesystem::path& folder, at::ScalarType dtype = at::kFloat) const;

  const VaeConfig& config() const { return config_; }
  const std::optional<BlockTransform>& transform() const { return transform_; }
  void set_statistics(std::vector<double> mean, std::vector<double> deviation);
  const Parameters& parameters() const { return *parameters_; }
  at::ScalarType dtype() const { return parameters_->options().dtype; }
  // Makes VaeDecoder decode with another network for the same latents. Bad input if it does not
  // fit. The weights of the autoencoder stay unchanged.
  void use_decoder(std::shared_ptr<const TinyDecoder> decoder);
  // That network, or null.
  const TinyDecoder* tiny_decoder() const { return tiny_decoder_.get(); }
  // The type of arithmetic, by default the type of the parameters. Training in BF16 keeps FP32
  // parameters.
  void set_compute_type(at::ScalarType type) { compute_ = type; }

  // Encodes a whole clip, or with pass.cache the next part of a clip: 1 + 4n frames at its start,
  // 4n frames afterwards. Differentiable.
  struct Posterior {
    at::Tensor mean, log_variance;  // [B, z, latents, h, w], FP32, not normalised
  };
  Posterior encode(const at::Tensor& pixels, const VaePass& pass = {}) const;
  // `latents` are not normalised. Returns FP32 pixels, not clamped.
  at::Tensor decode(const at::Tensor& latents, const VaePass& pass = {}) const;

  at::Tensor normalise(const at::Tensor& mean) const;  // to model space
  at::Tensor denormalise(const at::Tensor& latents) const;

 private:
  // The tensor of a parameter, or an undefined tensor. For a sketch only its shape and type count.
  using TensorLookup = std::function<at::Tensor(const std::string& name, bool sketch)>;

  Vae(const VaeConfig& config, std::unique_ptr<Parameters> parameters);
  // An autoencoder of the tensors that `find` returns, which it owns. `available` are their names.
  static Vae assemble(const VaeConfig& config, const std::vector<std::string>& available,
                      const TensorLookup& find, const std::string& source,
                      const VaeOptions& options);
  at::Tensor encode_patches(const at::Tensor& pixels, const VaePass& pass) const;
  at::Tensor transform_log_variance(const at::Tensor& mean) const;
  at::Tensor statistics(const std::vector<double>& values, const at::Tensor& like) const;

  VaeConfig config_;
  std::unique_ptr<Parameters> parameters_;
  at::ScalarType compute_;
  std::optional<BlockTransform> transform_;
  std::optional<EncoderNetwork> encoder_;  // none if a transform encodes alone
  std::optional<PointConv> quant_conv_;
  PointConv post_quant_conv_;
  DecoderNetwork decoder_;
  std::optional<Refiner> refiner_;
  std::shared_ptr<const TinyDecoder> tiny_decoder_;
};

}  // namespace loci::model
