// SPDX-License-Identifier: Apache-2.0
// Cost of one softmax and one hybrid block of a model in a denoising step over a synthetic history.
// The case can be written to a file, so that another implementation can run it and compare its
// outputs.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/eval/cost/chunk_step.h"
#include "loci/model/transformer/block.h"
#include "loci/model/transformer/config.h"
#include "loci/model/weights/parameters.h"

namespace loci::eval {

// The kinds of blocks, in their order in a BlockPair.
enum class BlockKind { kSoftmax, kHybrid };
inline constexpr std::array kBlockKinds = {BlockKind::kSoftmax, BlockKind::kHybrid};
std::string_view name_of(BlockKind kind);  // "softmax", "hybrid"

class BlockPair {
 public:
  // Creates blocks with random weights. Weights that training initialises to zero are random, too,
  // so that every branch contributes. The large weights have the quantization of the config; all
  // other weights and the activations have type `dtype`.
  BlockPair(const model::TransformerConfig& config, const camera::TokenGrid& grid,
            at::ScalarType dtype);

  // Config of a model with only these two blocks, from which a ChunkStep for run() is made.
  const model::TransformerConfig& config() const { return config_; }
  uint64_t weight_bytes() const { return parameters_.bytes(); }

  // Returns the residual stream after the block, [1, N, width]. `commit` also writes the recurrent
  // state.
  at::Tensor run(const ChunkStep& step, BlockKind kind, bool commit) const;
  // Input of the blocks, [1, N, width].
  const at::Tensor& input() const { return input_; }

  // Writes weights, inputs, maps, text, history and states as safetensors, with the config in the
  // metadata. Weights, text and history are written in `dtype`; quantized weights are dequantized.
  void write_case(const std::filesystem::path& file, const ChunkStep& step,
                  at::ScalarType dtype) const;

 private:
  model::TransformerConfig config_;
  at::ScalarType dtype_;
  std::shared_ptr<const memory::RecurrentMemory> memory_;  // of the hybrid block
  model::Parameters parameters_;
  std::vector<model::Block> blocks_;
  at::Tensor input_, modulation_;
  std::vector<model::TextKeys::Entry> text_;
};

// Time of a call.
struct CallCost {
  double seconds = 0;    // wall time
  double processor = 0;  // CPU time of all threads; it depends little on other load
};
// Repeats the call until `again` seconds have passed and returns the lower quartile. The minimum
// would be unreliable, because virtual machines occasionally report a CPU time that is too short.
CallCost cost_of(const std::function<void()>& call, double again = 1);

}  // namespace loci::eval
