// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/cost/block_cost.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <set>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/interrupt.h"
#include "loci/io/tensors/safetensors.h"
#include "loci/memory/recurrent/recurrent_registry.h"
#include "loci/model/transformer/map_tensors.h"

namespace loci::eval {

namespace {

at::Tensor random(at::IntArrayRef shape, uint64_t seed) {
  return at::randn(shape, at::make_generator<at::CPUGeneratorImpl>(seed), at::kFloat);
}

model::TransformerConfig two_blocks(model::TransformerConfig config) {
  config.layers = 2;
  config.hybrid_layers = {static_cast<int64_t>(BlockKind::kHybrid)};
  return config;
}

void add_past(io::NamedTensors& tensors, const std::string& name, at::ScalarType dtype,
              const model::ForwardContext& context, int64_t layer, memory::Branch branch) {
  const auto past = context.visible.past->entry(layer, branch);
  if (past == nullptr) return;
  tensors.emplace_back(name + ".key", past->keys().to(dtype).contiguous());
  tensors.emplace_back(name + ".value", past->values().to(dtype).contiguous());
}

std::vector<model::Block> make_blocks(model::Parameters& parameters,
                                      const model::TransformerConfig& config) {
  const auto memory = memory::make_recurrent_memory(config.recurrent_memory);
  const model::Scope root(parameters);
  std::vector<model::Block> blocks;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    blocks.emplace_back(root["blocks"][layer], config, layer,
                        config.is_hybrid(layer) ? memory : nullptr);
  }
  return blocks;
}

// Random parameters of the blocks by name. Large weights are quantized (values and scales)
// according to the config.
std::map<std::string, at::Tensor> random_weights(model::TransformerConfig config,
                                                 at::ScalarType dtype) {
  const auto format = kernels::weight_format(config.quantization);
  config.quantization = "none";
  model::Parameters parameters(model::Parameters::Options{.dtype = dtype, .seed = 1});
  std::vector<model::Block> blocks = make_blocks(parameters, config);
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(2);
  std::map<std::string, at::Tensor> weights;
  for (const model::Parameter& parameter : parameters.all()) {
    if (!parameter.tensor.any().item<bool>()) {
      parameter.tensor.copy_(
          at::empty(parameter.tensor.sizes(), at::kFloat).normal_(0, 0.02, generator));
    }
    weights.emplace(parameter.name, parameter.tensor);
  }
  if (!format) return weights;
  for (model::Block& block : blocks) {
    block.visit_large([&](const model::Linear& linear) {
      const kernels::QuantizedWeight numbers = kernels::quantize_weight(linear.weight, *format);
      weights[linear.name + ".weight"] = numbers.data;
      weights[linear.name + ".weight_scale"] = numbers.scale;
    });
  }
  return weights;
}

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double lower_quartile(std::vector<double>& values) {
  const auto quartile = values.begin() + std::ssize(values) / 4;
  std::nth_element(values.begin(), quartile, values.end());
  return *quartile;
}

}  // namespace

std::string_view name_of(BlockKind kind) {
  return kind == BlockKind::kSoftmax ? "softmax" : "hybrid";
}

BlockPair::BlockPair(const model::TransformerConfig& config, const camera::TokenGrid& grid,
                     at::ScalarType dtype)
    : config_(two_blocks(config)),
      dtype_(dtype),
      memory_(memory::make_recurrent_memory(config_.recurrent_memory)),
      parameters_(model::Parameters::Options{.dtype = dtype},
                  [weights = random_weights(config_, dtype)](const std::string& name) {
                    return weights.at(name);
                  }) {
  const at::NoGradGuard no_grad;
  blocks_ = make_blocks(parameters_, config_);
  parameters_.release_source();
  const at::ScalarType wide = model::wide(dtype);
  input_ = random({1, config_.chunk_size * grid.tokens(), config_.width()}, 3).to(wide);
  modulation_ = (0.3 * random({1, config_.chunk_size, 6, config_.width()}, 4)).to(wide);
  const at::Tensor text = random({1, config_.text_len, config_.width()}, 5).to(dtype);
  for (const model::Block& block : blocks_) text_.push_back(block.text_keys(text));
}

at::Tensor BlockPair::run(const ChunkStep& step, BlockKind kind, bool commit) const {
  const at::NoGradGuard no_grad;
  const auto layer = static_cast<size_t>(kind);
  model::ForwardContext context = step.context();
  context.memory.write_states = commit;
  const model::PassPlan plan(context.visible, context.memory, memory_.get(), dtype_);
  return blocks_[layer](input_, modulation_, plan, context.observers, text_[layer],
                        context.memory.states[layer]);
}

void BlockPair::write_case(const std::filesystem::path& file, const ChunkStep& step,
                           at::ScalarType dtype) const {
  const model::ForwardContext context = step.context();
  io::NamedTensors tensors = model::map_tensors(step.maps());
  tensors.emplace_back("in.x", input_);
  tensors.emplace_back("in.modulation", modulation_);
  std::set<std::string> written;
  for (model::Block block : blocks_) {  // a copy, because visit_large() is not const
    block.visit_large([&](const model::Linear& linear) {
      const auto* packed = linear.product.target<kernels::PackedLinear>();
      if (packed == nullptr) return;
      tensors.emplace_back("weight." + linear.name + ".weight", packed->weight().to(dtype));
      written.insert({linear.name + ".weight", linear.name + ".weight_scale"});
    });
  }
  for (const model::Parameter& parameter : parameters_.all()) {
    if (written.contains(parameter.name)) continue;
    tensors.emplace_back("weight." + parameter.name, parameter.tensor.to(dtype));
  }
  for (const BlockKind kind : kBlockKinds) {
    const auto layer = static_cast<int64_t>(kind);
    const auto index = static_cast<size_t>(kind);
    const auto add_text = [&](const char* what, const at::Tensor& tensor) {
      tensors.emplace_back(fmt::format("text.{}.{}", layer, what), tensor.to(dtype).contiguous());
    };
    add_text("key", text_[index].key);
    add_text("value", text_[index].value);
    const auto past_of = [&](const char* name, memory::Branch branch) {
      add_past(tensors, fmt::format("{}.{}", name, layer), dtype, context, layer, branch);
    };
    past_of("main", memory::Branch::kMain);
    past_of("camera", memory::Branch::kCamera);
    if (context.memory.states[index].defined()) {
      tensors.emplace_back(fmt::format("state.{}", layer), context.memory.states[index]);
    }
  }
  io::write_safetensors(file, tensors, {{"loci.config", config_.to_json().dump()}});
}

CallCost cost_of(const std::function<void()>& call, double again) {
  std::vector<double> seconds, processor;
  const double begun = seconds_of(CLOCK_MONOTONIC);
  do {
    check_interrupt();
    const double start = seconds_of(CLOCK_MONOTONIC), used = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    call();
    processor.push_back(seconds_of(CLOCK_PROCESS_CPUTIME_ID) - used);
    seconds.push_back(seconds_of(CLOCK_MONOTONIC) - start);
  } while (seconds_of(CLOCK_MONOTONIC) - begun < again);
  return {lower_quartile(seconds), lower_quartile(processor)};
}

}  // namespace loci::eval
