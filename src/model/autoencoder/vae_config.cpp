// SPDX-License-Identifier: Apache-2.0
#include "loci/model/autoencoder/vae_config.h"

#include <algorithm>
#include <cmath>

namespace loci::model {

namespace {

// Latent statistics of Wan2.2's 48 channels.
const std::vector<double> kPublishedMean = {
    -0.2289, -0.0052, -0.1323, -0.2339, -0.2799, 0.0174,  0.1838,  0.1557,  -0.1382, 0.0542,
    0.2813,  0.0891,  0.1570,  -0.0098, 0.0375,  -0.1825, -0.2246, -0.1207, -0.0698, 0.5109,
    0.2665,  -0.2108, -0.2158, 0.2502,  -0.2055, -0.0322, 0.1109,  0.1567,  -0.0729, 0.0899,
    -0.2799, -0.1230, -0.0313, -0.1649, 0.0117,  0.0723,  -0.2839, -0.2083, -0.0520, 0.3748,
    0.0152,  0.1957,  0.1433,  -0.2944, 0.3573,  -0.0548, -0.1681, -0.0667};
const std::vector<double> kPublishedStd = {
    0.4765, 1.0364, 0.4514, 1.1677, 0.5313, 0.4990, 0.4818, 0.5013, 0.8158, 1.0344, 0.5894, 1.0901,
    0.6885, 0.6165, 0.8454, 0.4978, 0.5759, 0.3523, 0.7135, 0.6804, 0.5833, 1.4146, 0.8986, 0.5659,
    0.7069, 0.5338, 0.4889, 0.4917, 0.4069, 0.4999, 0.6866, 0.4093, 0.5709, 0.6065, 0.6415, 0.4944,
    0.5726, 1.2042, 0.5458, 1.6887, 0.3971, 1.0600, 0.3943, 0.5537, 0.5444, 0.4089, 0.7468, 0.7744};

// The shortcuts between levels average or repeat whole groups of channels over 2x2 pixels (and two
// frames). From a to b channels, the encoder needs 4a (8a) to be a multiple of b.
void check_shortcuts(const VaeConfig& config, const std::string& where) {
  const std::vector<int64_t>& mult = config.dim_mult;
  const size_t last = mult.size() - 1;
  bool possible = true;
  for (size_t i = 0; i < mult.size(); ++i) {
    const int64_t before = i == 0 ? 1 : mult[i - 1];
    const int64_t factor = i == last ? 1 : config.temporal_downsample[i] ? 8 : 4;
    possible = possible && before * factor % mult[i] == 0;
    // The decoder changes from the channels of level i + 2 (first: of the last level) to those of
    // level i + 1 before it doubles the size.
    if (i < last) possible = possible && mult[i + 1] * factor % mult[std::min(i + 2, last)] == 0;
  }
  if (!possible) {
    fail(
        "{}: dim_mult [{}] has steps that the shortcuts between levels do not support; use for "
        "example [1, 2, 4, 4]",
        where, fmt::join(mult, ", "));
  }
}

std::vector<double> read_statistics(const ConfigReader& reader, const std::string& key,
                                    const VaeConfig& config, double low,
                                    const std::vector<double>& published, double fallback) {
  if (!reader.has(key)) {
    reader.get<std::vector<double>>(key, {});
    return config.z_dim == 48 && !config.block_transform
               ? published
               : std::vector<double>(static_cast<size_t>(config.z_dim), fallback);
  }
  const auto values = reader.get<std::vector<double>>(key);
  if (values.size() != static_cast<size_t>(config.z_dim)) {
    fail("{}: {} has {} values; z_dim is {}", reader.where(), key, values.size(), config.z_dim);
  }
  for (const double value : values) {
    if (!std::isfinite(value) || value <= low) {
      fail("{}: {} contains {}, which is out of range", reader.where(), key, value);
    }
  }
  return values;
}

}  // namespace

VaeConfig VaeConfig::from_json(const Json& json, const std::string& where) {
  const ConfigReader reader(json, where);
  reader.ignore({"_class_name", "_diffusers_version", "_name_or_path", "dropout", "clip_output"});
  VaeConfig config;
  config.base_dim = reader.get<int64_t>("base_dim", config.base_dim, 1, 8192);
  config.decoder_base_dim = reader.get<int64_t>("decoder_base_dim", config.base_dim, 1, 8192);
  config.z_dim = reader.get<int64_t>("z_dim", config.z_dim, 1, 1024);
  config.num_res_blocks = reader.get<int64_t>("num_res_blocks", config.num_res_blocks, 1, 16);
  config.patch_size = reader.get<int64_t>("patch_size", config.patch_size, 1, 16);
  config.dim_mult = reader.get<std::vector<int64_t>>("dim_mult", config.dim_mult);
  config.shuffle = reader.choose("upsample", "repeat", {"repeat", "shuffle"}) == "shuffle";
  config.block_transform = reader.get<bool>("block_transform", config.block_transform);
  config.encoder_correction = reader.get<bool>("encoder_correction", config.encoder_correction);
  if (config.encoder_correction && !config.block_transform) {
    fail("{}: encoder_correction is true, but block_transform is not; set block_transform to true",
         where);
  }
  config.refiner_dim = reader.get<int64_t>("refiner_dim", config.refiner_dim, 0, 8192);
  config.refiner_blocks = reader.get<int64_t>("refiner_blocks", config.refiner_blocks, 1, 16);
  config.temporal_downsample =
      reader.get<std::vector<bool>>("temperal_downsample", config.temporal_downsample);
  if (!reader.get<bool>("is_residual", true)) {
    fail(
        "{}: is_residual is false (the autoencoder of Wan2.1); only the autoencoder of Wan2.2 is "
        "supported",
        where);
  }
  if (!reader.get<std::vector<double>>("attn_scales", {}).empty()) {
    fail("{}: attn_scales must be empty; attention is supported in the middle block only", where);
  }
  if (config.dim_mult.empty() || config.dim_mult.size() > 6 ||
      *std::min_element(config.dim_mult.begin(), config.dim_mult.end()) < 1 ||
      *std::max_element(config.dim_mult.begin(), config.dim_mult.end()) > 64) {
    fail("{}: dim_mult must list 1 to 6 multipliers between 1 and 64", where);
  }
  if (config.temporal_downsample.size() + 1 != config.dim_mult.size()) {
    fail("{}: temperal_downsample has {} entries; {} levels (dim_mult) have {} steps between them",
         where, config.temporal_downsample.size(), config.dim_mult.size(),
         config.dim_mult.size() - 1);
  }
  check_shortcuts(config, where);
  for (const char* key : {"in_channels", "out_channels"}) {
    const auto channels = reader.get<int64_t>(key, config.patch_channels());
    if (channels != config.patch_channels()) {
      fail("{}: {} is {}; patches of {}x{} RGB pixels have {} channels", where, key, channels,
           config.patch_size, config.patch_size, config.patch_channels());
    }
  }
  const auto check_factor = [&](const char* key, int64_t factor) {
    if (reader.get<int64_t>(key, factor) != factor) {
      fail("{}: {} is {}; dim_mult and patch_size give {}", where, key, reader.get<int64_t>(key),
           factor);
    }
  };
  check_factor("scale_factor_spatial", config.spatial_factor());
  check_factor("scale_factor_temporal", config.temporal_factor());
  config.latents_mean = read_statistics(reader, "latents_mean", config, -1e9, kPublishedMean, 0);
  config.latents_std = read_statistics(reader, "latents_std", config, 0, kPublishedStd, 1);
  reader.finish();
  return config;
}

VaeConfig VaeConfig::wan22() {
  VaeConfig config;
  config.latents_mean = kPublishedMean;
  config.latents_std = kPublishedStd;
  return config;
}

Json VaeConfig::to_json() const {
  Json json{{"_class_name", "AutoencoderKLWan"},
            {"base_dim", base_dim},
            {"decoder_base_dim", decoder_base_dim},
            {"z_dim", z_dim},
            {"dim_mult", dim_mult},
            {"num_res_blocks", num_res_blocks},
            {"attn_scales", Json::array()},
            {"temperal_downsample", temporal_downsample},
            {"is_residual", true},
            {"in_channels", patch_channels()},
            {"out_channels", patch_channels()},
            {"patch_size", patch_size},
            {"upsample", shuffle ? "shuffle" : "repeat"},
            {"scale_factor_temporal", temporal_factor()},
            {"scale_factor_spatial", spatial_factor()},
            {"latents_mean", latents_mean},
            {"latents_std", latents_std}};
  if (block_transform) json["block_transform"] = true;
  if (encoder_correction) json["encoder_correction"] = true;
  if (refiner_dim > 0) {
    json["refiner_dim"] = refiner_dim;
    json["refiner_blocks"] = refiner_blocks;
  }
  return json;
}

int64_t VaeConfig::spatial_factor() const { return patch_size << (dim_mult.size() - 1); }

int64_t VaeConfig::temporal_factor() const {
  return int64_t{1} << std::count(temporal_downsample.begin(), temporal_downsample.end(), true);
}

void VaeConfig::check_frame_size(int64_t height, int64_t width) const {
  const int64_t factor = spatial_factor();
  if (height >= factor && width >= factor && height % factor == 0 && width % factor == 0) return;
  const auto fit = [factor](int64_t side) { return std::max(factor, side / factor * factor); };
  fail(
      "a frame of {}x{} pixels does not divide into latents of {}x{} pixels; use for example {}x{}",
      width, height, factor, factor, fit(width), fit(height));
}

}  // namespace loci::model
