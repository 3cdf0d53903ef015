// SPDX-License-Identifier: Apache-2.0
// An opened golden case, and the functions that compute its outputs.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"
#include "loci/camera/trajectory.h"
#include "loci/io/tensors/safetensors.h"
#include "loci/model/transformer/transformer.h"

namespace loci::eval {

struct GoldenCase {
  std::filesystem::path path;
  std::string kind;
  std::string system;  // whose model it is; empty: LOCI
  Json config;         // of the model
  Json setting;        // text_len, latent_size, bank_frames, recent_frames
  double tolerance = 0;
  at::ScalarType compute = at::kFloat;
  io::SafetensorsFile file;

  static GoldenCase open(const std::filesystem::path& path, at::ScalarType compute);

  at::Tensor input(const std::string& name) const;   // "in." + name
  at::Tensor output(const std::string& name) const;  // "out." + name
  std::vector<std::string> output_names() const;

  // Poses from in.c2w; in.fov_x and in.xi apply to every frame.
  camera::Trajectory trajectory() const;
  camera::TokenGrid grid(const model::TransformerConfig& config) const;
  model::TransformerConfig transformer_config() const;
  // Loads the model with the weights that the case names.
  model::Transformer transformer() const;
  std::filesystem::path weights() const;
};

using GoldenOutputs = std::map<std::string, at::Tensor>;
GoldenOutputs run_geometry(const GoldenCase& golden);
GoldenOutputs run_delta_scan(const GoldenCase& golden);
GoldenOutputs run_window(const GoldenCase& golden);
GoldenOutputs run_stream(const GoldenCase& golden);  // dense and sparse
GoldenOutputs run_bank(const GoldenCase& golden);
GoldenOutputs run_vae(const GoldenCase& golden);
GoldenOutputs run_text_encoder(const GoldenCase& golden);
// Of SolarWM.
GoldenOutputs run_solarwm_camera(const GoldenCase& golden);
GoldenOutputs run_solarwm_forward(const GoldenCase& golden);
GoldenOutputs run_solarwm_stream(const GoldenCase& golden);
GoldenOutputs run_solarwm_sample(const GoldenCase& golden);  // stage 2, and the flow map of stage 1
GoldenOutputs run_solarwm_window(const GoldenCase& golden);
// Of Astronex-World.
GoldenOutputs run_astronex_camera(const GoldenCase& golden);
GoldenOutputs run_astronex_retrieval(const GoldenCase& golden);
GoldenOutputs run_astronex_forward(const GoldenCase& golden);
GoldenOutputs run_astronex_stream(const GoldenCase& golden);  // with and without retrieval
GoldenOutputs run_astronex_action(const GoldenCase& golden);
GoldenOutputs run_astronex_sampler(const GoldenCase& golden);
GoldenOutputs run_astronex_chroma(const GoldenCase& golden);
// Of Matrix-Game 3.5.
GoldenOutputs run_matrix_game_camera(const GoldenCase& golden);
GoldenOutputs run_matrix_game_forward(const GoldenCase& golden);
GoldenOutputs run_matrix_game_subject(const GoldenCase& golden);
GoldenOutputs run_matrix_game_stream(const GoldenCase& golden);
GoldenOutputs run_matrix_game_memory(const GoldenCase& golden);

}  // namespace loci::eval
