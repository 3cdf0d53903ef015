// SPDX-License-Identifier: Apache-2.0
// What a stream takes in time and memory as it grows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "loci/model/transformer/transformer.h"
#include "loci/sample/stream/stream_options.h"

namespace loci::eval {

// After so many seconds of video.
struct StreamCost {
  double seconds = 0;
  int64_t latents = 0;
  double chunk_seconds = 0;    // median over the chunks since the row before
  double chunk_cpu = 0;        // the same of processor seconds, over all threads
  uint64_t history_bytes = 0;  // states and slots allocated
  uint64_t resident = 0;       // of the process, now
  uint64_t peak = 0;           // since the stream began
};

// A walk on a circle that revisits, without an autoencoder, at 16 frames a second and 4 a latent.
// `seconds` ascends; lengths within one chunk are one row. `title` names it in the progress.
std::vector<StreamCost> measure_stream(const model::Transformer& transformer,
                                       const sample::StreamOptions& options,
                                       std::span<const double> seconds, const std::string& title);

}  // namespace loci::eval
