// SPDX-License-Identifier: Apache-2.0
// Measurements of `loci bench block`: single blocks with a history, in loci and in PyTorch.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/ScalarType.h>

#include "loci/eval/cost/block_cost.h"
#include "loci/eval/cost/chunk_step.h"
#include "loci/model/transformer/block_work.h"
#include "loci/model/transformer/config.h"

namespace loci::app {

struct BlockPreset {
  std::string name;
  model::TransformerConfig config;
  camera::TokenGrid grid;  // tokens of a latent frame
};

// Data types of weights and products, and the tolerance for PyTorch's result. FP32 sums in another
// order, BF16 rounds at other places, and PyTorch multiplies dequantized INT8 and INT4 weights with
// inputs that are not rounded to INT8.
struct BlockDtype {
  const char* name;
  at::ScalarType type;       // of activations and of weights that are not quantized
  const char* quantization;  // of the large weights
  double tolerance;          // norm of the difference / norm of the block's residual
};
inline constexpr std::array kBlockDtypes = {BlockDtype{"fp32", at::kFloat, "none", 1e-4},
                                            BlockDtype{"bf16", at::kBFloat16, "none", 3e-2},
                                            BlockDtype{"int8", at::kBFloat16, "int8", 6e-2},
                                            BlockDtype{"int4", at::kBFloat16, "int4", 3e-2}};

struct BenchBlockOptions {
  std::string preset = "mini", dtype = "fp32", kv = "plain", compare, torch_dtype = "same", out;
  std::vector<std::string> histories = {"sparse", "dense"};
  int64_t width = 0, height = 0;  // pixels; 0 = the preset's
  double seconds = 40;
  int64_t repeats = 3, staging_mib = 0;
  std::string python = "build/venv/bin/python", script = "src/app/bench/block_torch.py";
  bool commit = false, whole = false, json = false;
};

// Results of one block with one history.
struct BlockRow {
  eval::BlockKind kind = eval::BlockKind::kSoftmax;
  std::string history;
  int64_t past_frames = 0, keys = 0;
  model::BlockWork work;
  eval::CallCost ours;
  std::optional<eval::CallCost> torch;
  double error = 0;  // difference from PyTorch's result
};

// The entry with this name, which must exist.
template <typename List>
auto chosen(const List& list, const std::string& name) {
  return *std::find_if(list.begin(), list.end(),
                       [&](const auto& each) { return each.name == name; });
}

// Data types for PyTorch; "same" is the type of the block's activations.
inline constexpr std::array kTorchDtypes = {"same", "fp32", "bf16"};

// A chunk in the middle of a stream with this history.
eval::ChunkStepOptions step_options(const BenchBlockOptions& o, const BlockPreset& preset,
                                    const std::string& history);

// Measures both blocks with one history. loci and PyTorch alternate, so that disturbances affect
// both. A check fails if the results differ by more than the tolerance.
std::vector<BlockRow> measure_blocks(const BenchBlockOptions& o, const BlockPreset& preset,
                                     const eval::BlockPair& blocks, const std::string& history);

}  // namespace loci::app
