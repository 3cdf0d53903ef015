// SPDX-License-Identifier: Apache-2.0
// What the golden cases of published systems have in common: configs under the authors' keys,
// cameras as matrices, models with the authors' tensor names.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/camera/camera.h"
#include "loci/eval/golden/golden_case.h"
#include "loci/sample/stream/cached_transformer.h"

namespace loci::eval {

// The config of a system with the sizes of the case. `settings` are further keys of config.json.
model::TransformerConfig system_config(const GoldenCase& golden, const std::string& system,
                                       const Json& settings);
// The model of a config with the weights that the case names.
model::Transformer system_model(const GoldenCase& golden, const model::TransformerConfig& config);

// Cameras from camera-to-world (or world-to-camera) matrices [F, 4, 4] and pinhole matrices that
// are normalised by the image size, [F, 3, 3] or one [3, 3] for all frames.
std::vector<camera::Camera> cameras_of(const at::Tensor& matrices, const at::Tensor& pinholes,
                                       bool world_to_camera);

// Fixed-size row of integers, padded with -1.
at::Tensor padded_row(const std::vector<int64_t>& values, int64_t size);

}  // namespace loci::eval
