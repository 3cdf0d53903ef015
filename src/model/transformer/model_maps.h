// SPDX-License-Identifier: Apache-2.0
// The token maps that a model needs, by its config.
#pragma once

#include <span>

#include "loci/camera/camera.h"
#include "loci/model/transformer/config.h"
#include "loci/model/transformer/token_maps.h"

namespace loci::model {

// The maps of consecutive frames with the temporal positions `times`. `chunk_starts` are the first
// frames of the chunks, see camera::frame_geometry(). One camera per frame, or
// config.projection.cameras_per_latent if the model has no camera branch along rays. Poses are
// relative to the first frame of the stream.
TokenMaps model_maps(const TransformerConfig& config, std::span<const camera::Camera> cameras,
                     std::span<const int64_t> chunk_starts, std::span<const double> times,
                     const camera::TokenGrid& grid);

// The map of the raw keys of past frames, for models with TransformerConfig::stores_raw_keys().
kernels::HeadMap raw_key_map(const TransformerConfig& config,
                             std::span<const camera::Camera> cameras, std::span<const double> times,
                             const camera::TokenGrid& grid);

}  // namespace loci::model
