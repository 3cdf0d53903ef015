// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/block_cost.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/interrupt.h"
#include "loci/io/safetensors.h"
#include "loci/model/map_tensors.h"

namespace loci::eval {

namespace {

constexpr double kCallAgain = 1;  // seconds

at::Tensor random(at::IntArrayRef shape, uint64_t seed) {
  return at::randn(shape, at::make_generator<at::CPUGeneratorImpl>(seed), at::kFloat);
}

model::TransformerConfig two_blocks(model::TransformerConfig config) {
  config.layers = 2;
  config.hybrid_layers = {static_cast<int64_t>(BlockKind::kHybrid)};
  return config;
}

void add_past(io::NamedTensors& tensors, const std::string& name,
              const model::ForwardContext& context, int64_t layer, memory::Branch branch) {
  const auto past = context.past_entry(layer, branch);
  if (past == nullptr) return;
  tensors.emplace_back(name + ".key", past->keys().contiguous());
  tensors.emplace_back(name + ".value", past->values().contiguous());
}

}  // namespace

std::string_view name_of(BlockKind kind) {
  return kind == BlockKind::kSoftmax ? "softmax" : "hybrid";
}

BlockPair::BlockPair(const model::TransformerConfig& config, const camera::TokenGrid& grid,
                     at::ScalarType dtype)
    : config_(two_blocks(config)),
      dtype_(dtype),
      parameters_(model::Parameters::Options{.dtype = dtype, .seed = 1}) {
  const at::NoGradGuard no_grad;
  const auto memory = memory::make_recurrent_memory(config_.recurrent_memory);
  const model::Scope root(parameters_);
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    blocks_.emplace_back(root["blocks"][layer], config_, layer,
                         config_.is_hybrid(layer) ? memory : nullptr);
  }
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(2);
  for (const model::Parameter& parameter : parameters_.all()) {
    if (!parameter.tensor.any().item<bool>()) {
      parameter.tensor.copy_(
          at::empty(parameter.tensor.sizes(), at::kFloat).normal_(0, 0.02, generator));
    }
  }
  const at::ScalarType wide = model::wide(dtype);
  input_ = random({1, config_.chunk_size * grid.tokens(), config_.width()}, 3).to(wide);
  modulation_ = (0.3 * random({1, config_.chunk_size, 6, config_.width()}, 4)).to(wide);
  const at::Tensor text = random({1, config_.text_len, config_.width()}, 5).to(dtype);
  for (const model::Block& block : blocks_) text_.push_back(block.text_keys(text));
}

uint64_t BlockPair::weight_bytes() const {
  return parameters_.count() * static_cast<uint64_t>(c10::elementSize(dtype_));
}

at::Tensor BlockPair::run(const ChunkStep& step, BlockKind kind, bool commit) const {
  const at::NoGradGuard no_grad;
  const auto layer = static_cast<size_t>(kind);
  model::ForwardContext context = step.context();
  context.write_states = commit;
  return blocks_[layer](input_, modulation_, dtype_, context, text_[layer], context.states[layer]);
}

void BlockPair::write_case(const std::filesystem::path& file, const ChunkStep& step) const {
  const model::ForwardContext context = step.context();
  io::NamedTensors tensors = model::map_tensors(step.maps());
  tensors.emplace_back("in.x", input_);
  tensors.emplace_back("in.modulation", modulation_);
  for (const model::Parameter& parameter : parameters_.all()) {
    tensors.emplace_back("weight." + parameter.name, parameter.tensor);
  }
  for (const BlockKind kind : kBlockKinds) {
    const auto layer = static_cast<int64_t>(kind);
    const auto index = static_cast<size_t>(kind);
    tensors.emplace_back(fmt::format("text.{}.key", layer), text_[index].key.contiguous());
    tensors.emplace_back(fmt::format("text.{}.value", layer), text_[index].value.contiguous());
    add_past(tensors, fmt::format("main.{}", layer), context, layer, memory::Branch::kMain);
    add_past(tensors, fmt::format("camera.{}", layer), context, layer, memory::Branch::kCamera);
    if (context.states[index].defined()) {
      tensors.emplace_back(fmt::format("state.{}", layer), context.states[index]);
    }
  }
  io::write_safetensors(file, tensors, {{"loci.config", config_.to_json().dump()}});
}

CallCost cost_of(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  CallCost best{1e300, 1e300};
  const Clock::time_point begun = Clock::now();
  do {
    check_interrupt();
    const Clock::time_point start = Clock::now();
    const std::clock_t processor = std::clock();
    call();
    best.processor = std::min(
        best.processor, static_cast<double>(std::clock() - processor) / double{CLOCKS_PER_SEC});
    best.seconds =
        std::min(best.seconds, std::chrono::duration<double>(Clock::now() - start).count());
  } while (std::chrono::duration<double>(Clock::now() - begun).count() < kCallAgain);
  return best;
}

}  // namespace loci::eval
