// SPDX-License-Identifier: Apache-2.0
#include "loci/model/transformer/model_maps.h"

#include <array>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/camera/frame_projection.h"

namespace loci::model {

namespace {

camera::FrameProjections projections(const TransformerConfig& config,
                                     std::span<const camera::Camera> cameras,
                                     const camera::TokenGrid& grid) {
  return camera::frame_projections(
      cameras, static_cast<double>(grid.columns) / static_cast<double>(grid.rows),
      config.projection);
}

}  // namespace

TokenMaps model_maps(const TransformerConfig& config, std::span<const camera::Camera> cameras,
                     std::span<const int64_t> chunk_starts, std::span<const double> times,
                     const camera::TokenGrid& grid) {
  TokenMaps maps;
  if (config.uses_rays()) {
    const std::array<camera::FrameGeometry, 1> geometry = {
        camera::frame_geometry(cameras, chunk_starts, grid, config.kda_translation_scale)};
    maps = make_token_maps(geometry, times, config.recurrent_mapping());
  } else {
    maps.frames = std::ssize(times);
    maps.grid = grid;
    maps.rotary = rotary_map(times, grid);
  }
  if (config.attention_map != AttentionMap::kProjection &&
      config.camera_branch != CameraBranchKind::kProjection) {
    return maps;
  }
  const camera::FrameProjections p = projections(config, cameras, grid);
  LOCI_CHECK(p.project.size(0) == maps.frames, "{} cameras for {} frames", cameras.size(),
             maps.frames);
  const int64_t tokens = grid.tokens(), stride = config.tile_stride;
  const at::Tensor transposed =
      p.project.unflatten(1, {-1, 4}).transpose(-1, -2).flatten(1, 2).contiguous();
  if (config.attention_map == AttentionMap::kProjection) {
    maps.projected = ProjectedMaps{rotary_projection_map(times, grid, transposed, stride),
                                   rotary_projection_map(times, grid, p.unproject, stride),
                                   projection_map(p.unproject, tokens, stride),
                                   projection_map(p.project, tokens, stride)};
  }
  if (config.camera_branch == CameraBranchKind::kProjection) {
    maps.camera_query = projection_map(transposed, tokens, stride);
    maps.camera_key = projection_map(p.unproject, tokens, stride);
    maps.camera_output = projection_map(p.project, tokens, stride);
  }
  return maps;
}

kernels::HeadMap raw_key_map(const TransformerConfig& config,
                             std::span<const camera::Camera> cameras, std::span<const double> times,
                             const camera::TokenGrid& grid) {
  if (config.attention_map != AttentionMap::kProjection) return rotary_map(times, grid);
  return rotary_projection_map(times, grid, projections(config, cameras, grid).unproject,
                               config.tile_stride);
}

}  // namespace loci::model
