// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/golden/system_case.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/model/weights/weights.h"

namespace loci::eval {

model::TransformerConfig system_config(const GoldenCase& golden, const std::string& system,
                                       const Json& settings) {
  Json json = settings;
  json["system"] = system;
  for (const char* key : {"dim", "num_heads", "num_layers", "in_dim", "out_dim", "ffn_dim",
                          "text_dim", "text_len", "freq_dim", "patch_size", "eps"}) {
    if (golden.config.contains(key)) json[key] = golden.config[key];
  }
  return model::TransformerConfig::from_json(json, golden.path.string() + ": loci.config");
}

model::Transformer system_model(const GoldenCase& golden, const model::TransformerConfig& config) {
  return model::load_model(config, io::Checkpoint::open(golden.weights()),
                           {.dtype = golden.compute})
      .transformer;
}

std::vector<camera::Camera> cameras_of(const at::Tensor& matrices, const at::Tensor& pinholes,
                                       bool world_to_camera) {
  const int64_t frames = matrices.size(0);
  const at::Tensor m = matrices.to(at::kDouble).contiguous();
  const at::Tensor k =
      (pinholes.dim() == 2 ? pinholes.unsqueeze(0).expand({frames, 3, 3}) : pinholes)
          .to(at::kDouble)
          .contiguous();
  LOCI_CHECK(m.dim() == 3 && k.dim() == 3 && k.size(0) == frames, "{} poses and {} lenses", frames,
             k.size(0));
  const auto at_m = m.accessor<double, 3>(), at_k = k.accessor<double, 3>();
  std::vector<camera::Camera> cameras;
  for (int64_t f = 0; f < frames; ++f) {
    camera::Camera& camera = cameras.emplace_back();
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) camera.pose.rotation(r, c) = at_m[f][r][c];
    }
    camera.pose.position = {at_m[f][0][3], at_m[f][1][3], at_m[f][2][3]};
    if (world_to_camera) camera.pose = camera.pose.inverse();
    camera.lens.normalised = {at_k[f][0][0], at_k[f][1][1], at_k[f][0][2], at_k[f][1][2]};
  }
  return cameras;
}

at::Tensor padded_row(const std::vector<int64_t>& values, int64_t size) {
  return at::constant_pad_nd(at::tensor(values, at::kLong), {0, size - std::ssize(values)}, -1);
}

}  // namespace loci::eval
