// SPDX-License-Identifier: Apache-2.0
// One softmax and one hybrid block of a model, doing a chunk's step over a made-up past: what they
// take, and a file with which another implementation can do the same work and be held to the same
// numbers.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/eval/cost/chunk_step.h"
#include "loci/model/transformer/block.h"
#include "loci/model/transformer/config.h"
#include "loci/model/weights/parameters.h"

namespace loci::eval {

// The two kinds, in the order in which they stand in a BlockPair.
enum class BlockKind { kSoftmax, kHybrid };
inline constexpr std::array kBlockKinds = {BlockKind::kSoftmax, BlockKind::kHybrid};
std::string_view name_of(BlockKind kind);  // "softmax", "hybrid"

class BlockPair {
 public:
  // Random weights; those that start at zero in training are random too, so that no branch stays
  // silent. The config's quantization is that of the large ones, `dtype` of all others and of what
  // flows between them.
  BlockPair(const model::TransformerConfig& config, const camera::TokenGrid& grid,
            at::ScalarType dtype);

  // The model of these two blocks alone: a ChunkStep for run() is made from it.
  const model::TransformerConfig& config() const { return config_; }
  uint64_t weight_bytes() const { return parameters_.bytes(); }

  // Residual stream after the block, [1, N, width]; `commit` also writes the recurrent state.
  at::Tensor run(const ChunkStep& step, BlockKind kind, bool commit) const;
  // What went in, [1, N, width].
  const at::Tensor& input() const { return input_; }

  // Weights, inputs, maps, text, history and states as safetensors; the config in its metadata.
  // Weights, text and history are written in `dtype`, quantized ones as what they stand for.
  void write_case(const std::filesystem::path& file, const ChunkStep& step,
                  at::ScalarType dtype) const;

 private:
  model::TransformerConfig config_;
  at::ScalarType dtype_;
  model::Parameters parameters_;
  std::vector<model::Block> blocks_;
  at::Tensor input_, modulation_;
  std::vector<model::TextKeys::Entry> text_;
};

// What a call takes.
struct CallCost {
  double seconds = 0;    // of the clock
  double processor = 0;  // of all threads: what else runs on the machine counts little
};
// The lower quartile of calls that go on until `again` seconds have passed: small sizes warm up,
// large ones need no repeat. The least of many would be the one whose processor time a virtual
// machine told too short.
CallCost cost_of(const std::function<void()>& call, double again = 1);

}  // namespace loci::eval
