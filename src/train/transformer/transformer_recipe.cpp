// SPDX-License-Identifier: Apache-2.0
#include "loci/train/transformer/transformer_recipe.h"

namespace loci::train {

namespace {

// The learning rates of the paper.
LoopConfig transformer_defaults() {
  LoopConfig defaults;
  defaults.optimizer.learning_rates = {{ParameterGroup::kBackbone, 1e-5},
                                       {ParameterGroup::kCamera, 5e-5},
                                       {ParameterGroup::kRecurrent, 1e-4},
                                       {ParameterGroup::kText, 1e-5}};
  return defaults;
}

TransformerPhase read_phase(const ConfigReader& reader, const TransformerRecipe& recipe) {
  TransformerPhase phase;
  const int64_t chunk = recipe.model.chunk_size;
  phase.window = reader.get<int64_t>("window", phase.window, 2, 1 << 20);
  if ((phase.window - 1) % chunk != 0) {
    fail("{}: window is {}; expected 1 + a multiple of the chunk size {}", reader.where(),
         phase.window, chunk);
  }
  phase.history = HistoryAccessConfig::from(reader.section("history"));
  if (phase.history.new_share < 1 && !recipe.noise.past_copies) {
    fail("{}: history.new_share is {}; below 1 it needs past copies: set noise.past_copies",
         reader.where(), phase.history.new_share);
  }
  phase.data = read_data_parts(reader);
  return phase;
}

}  // namespace

TransformerRecipe TransformerRecipe::from_json(const Json& json, const std::string& where) {
  const ConfigReader reader(json, where);
  TransformerRecipe c;
  c.source = json;
  c.loop = LoopConfig::from(reader, transformer_defaults());
  c.model = model::TransformerConfig::from(reader.section("model"));
  if (c.model.is_quantized()) {
    fail("{}: model.quantization is {}; quantize the weights after training", reader.where(),
         c.model.quantization);
  }
  c.text = CaptionConfig::from(reader.section("text"));
  c.start = reader.get<std::string>("start", "");
  for (const std::string& name : reader.get<std::vector<std::string>>("start_without", {})) {
    c.start_without.push_back(parse_group(name, reader.where() + ": start_without"));
  }
  c.recurrent_start = RecurrentStartConfig::from(reader.section("recurrent_start"));
  c.device = reader.choose("device", c.device, {"cpu", "cuda"});
  c.checkpoint_blocks = reader.get<bool>("checkpoint_blocks", c.checkpoint_blocks);
  c.linear_guess = reader.get<bool>("linear_guess", c.linear_guess);
  c.noise = NoiseConfig::from(reader.section("noise"));
  c.channel_weights = ChannelWeightsConfig::from(reader.section("channel_weights"));
  c.log_loss_above = reader.get<double>("log_loss_above", c.log_loss_above, 0.0, 1e6);
  c.distill = DistillConfig::from(reader.section("distill"));
  c.validation = ValidationConfig::from(reader.section("validation"));
  for (const ConfigReader& phase : phase_sections(reader)) {
    c.phases.push_back(read_phase(phase, c));
  }
  reader.finish();
  return c;
}

}  // namespace loci::train
