// SPDX-License-Identifier: Apache-2.0
// Time and memory of a stream against its length.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "loci/model/transformer/transformer.h"
#include "loci/sample/stream/stream_options.h"

namespace loci::eval {

// Cost after `seconds` seconds of video.
struct StreamCost {
  double seconds = 0;
  int64_t latents = 0;
  double chunk_seconds = 0;    // wall time; median over the chunks since the previous row
  double chunk_cpu = 0;        // CPU time of all threads; median over the same chunks
  uint64_t history_bytes = 0;  // allocated states and slots
  uint64_t resident = 0;       // current resident memory of the process
  uint64_t peak = 0;           // peak resident memory since the start of the stream
};

// Streams along a circular path with revisits, without an autoencoder. `seconds` ascends. Lengths
// that end in the same chunk share a row. `title` is the label of the progress bar.
// `latents_per_second`: the frame rate divided by the autoencoder's temporal factor.
std::vector<StreamCost> measure_stream(const model::Transformer& transformer,
                                       const sample::StreamOptions& options,
                                       std::span<const double> seconds, const std::string& title,
                                       double latents_per_second);

}  // namespace loci::eval
