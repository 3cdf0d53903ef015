// SPDX-License-Identifier: Apache-2.0
#include "loci/train/transformer/transformer_recipe.h"

#include "loci/camera/time_grid.h"

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

// Reads a phase, and the stages that all phases share from the recipe.
TransformerPhase read_phase(const ConfigReader& reader, const ConfigReader& recipe, int64_t chunk,
                            double caption_dropout) {
  TransformerPhase phase;
  phase.window = reader.get<int64_t>("window", phase.window, 2, 1 << 20);
  if (!camera::TimeGrid{.latents_per_chunk = chunk}.whole_chunks(phase.window)) {
    fail("{}: window is {}; expected 1 + a multiple of the chunk size {}", reader.where(),
         phase.window, chunk);
  }
  phase.data = read_data_parts(reader);
  WindowStages& stages = phase.stages;
  stages.generated_share = reader.get<double>("generated_share", stages.generated_share, 0.0, 1.0);
  stages.noise = NoiseConfig::from(recipe.section("noise"));
  const PastConfig past = read_past(recipe.section("past"));  // also checks its keys
  reader.ignore({"past"});
  stages.past = reader.has("past") ? read_past(reader.section("past")) : past;
  stages.history = HistoryConfig::from(reader.section("history"));
  stages.caption_dropout = caption_dropout;
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
  // Windows begin with a chunk of one frame and have the key times of the history policy.
  if (c.model.attention_map != model::AttentionMap::kRotary || c.model.given_in_chunk ||
      c.model.key_times != memory::KeyTimes::kPolicy) {
    fail(
        "{}: models with attention_map projection, given_in_chunk or other key_times than policy "
        "cannot be trained",
        reader.where());
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
  c.channel_weights = ChannelWeightsConfig::from(reader.section("channel_weights"));
  c.log_loss_above = reader.get<double>("log_loss_above", c.log_loss_above, 0.0, 1e6);
  c.distill = DistillConfig::from(reader.section("distill"));
  c.validation = ValidationConfig::from(reader.section("validation"));
  for (const ConfigReader& phase : phase_sections(reader)) {
    c.phases.push_back(read_phase(phase, reader, c.model.chunk_size, c.text.dropout));
  }
  reader.finish();
  return c;
}

}  // namespace loci::train
