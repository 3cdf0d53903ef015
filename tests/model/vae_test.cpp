// SPDX-License-Identifier: Apache-2.0
#include "loci/model/vae.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/io/safetensors.h"
#include "loci/model/pixels.h"
#include "loci/model/vae_names.h"
#include "loci/model/vae_stream.h"

#include "../base/expect_error.h"

namespace loci::model {
namespace {

using ::testing::HasSubstr;

const std::filesystem::path kGolden = std::filesystem::path(LOCI_TEST_DATA) / "golden";

double relative_error(const at::Tensor& value, const at::Tensor& expected) {
  return ((value - expected).abs().max() / expected.std()).item<double>();
}

struct GoldenVae {
  io::SafetensorsFile file = io::SafetensorsFile::open(kGolden / "vae_a.safetensors");
  VaeConfig config =
      VaeConfig::from_json(parse_json(file.metadata().at("loci.config"), "vae_a"), "vae_a");
  Vae vae = Vae::load(config, kGolden / "weights_vae_a.safetensors");
  at::Tensor video = file.tensor("in.video").unsqueeze(0);
  at::Tensor latent = file.tensor("out.latent").unsqueeze(0);
  at::Tensor decoded = file.tensor("out.video").unsqueeze(0);
};

TEST(Vae, EqualsTheOriginal) {
  const at::NoGradGuard no_grad;
  const GoldenVae golden;
  // Streamed, as the original does it.
  EXPECT_LT(relative_error(golden.vae.denormalise(VaeEncoder(golden.vae).encode(golden.video)),
                           golden.latent),
            1e-4);
  VaeDecoder decoder(golden.vae);
  EXPECT_LT(relative_error(decoder.decode(golden.vae.normalise(golden.latent)),
                           golden.decoded.clamp(-1, 1)),
            1e-4);
  // Layer by layer over the whole clip, as training does it.
  EXPECT_LT(relative_error(golden.vae.encode(golden.video).mean, golden.latent), 1e-4);
  EXPECT_LT(
      relative_error(golden.vae.decode(golden.latent).clamp(-1, 1), golden.decoded.clamp(-1, 1)),
      1e-4);
}

}  // namespace
}  // namespace loci::model
