// SPDX-License-Identifier: Apache-2.0
#include "loci/train/loop/train_config.h"

#include <algorithm>

#include "loci/train/loop/compute_type.h"

namespace loci::train {

DistillConfig DistillConfig::from(const ConfigReader& reader) {
  DistillConfig c;
  c.teacher = reader.get<std::string>("teacher", "");
  c.velocity = reader.get<double>("velocity", c.velocity, 0.0, 1e6);
  c.layers = reader.get<double>("layers", c.layers, 0.0, 1e6);
  c.data = reader.get<double>("data", c.data, 0.0, 1e6);
  c.rollout_steps = reader.get<int64_t>("rollout_steps", c.rollout_steps, 0, 1000);
  return c;
}

TrainConfig TrainConfig::from_json(const Json& json, const std::string& where) {
  const ConfigReader reader(json, where);
  TrainConfig c;
  c.source = json;
  c.model = model::TransformerConfig::from(reader.section("model"));
  if (c.model.is_quantized()) {
    fail("{}: model.quantization is {}; weights are trained before they are quantized",
         reader.where(), c.model.quantization);
  }
  c.text = CaptionConfig::from(reader.section("text"));
  c.start = reader.get<std::string>("start", "");
  for (const std::string& name : reader.get<std::vector<std::string>>("start_without", {})) {
    c.start_without.push_back(parse_group(name, reader.where()));
  }
  c.recurrent_start = RecurrentStartConfig::from(reader.section("recurrent_start"));
  c.updates = reader.get<int64_t>("updates", c.updates, 1, int64_t{1} << 40);
  c.batch = reader.get<int64_t>("batch", c.batch, 1, 1 << 20);
  c.seed = reader.get<uint64_t>("seed", c.seed);
  c.device = reader.choose("device", c.device, {"cpu", "cuda"});
  c.compute = read_compute(reader);
  c.checkpoint_blocks = reader.get<bool>("checkpoint_blocks", c.checkpoint_blocks);
  c.ema = reader.get<double>("ema", c.ema, 0.0, 1.0);
  c.linear_guess = reader.get<bool>("linear_guess", c.linear_guess);
  c.noise = NoiseConfig::from(reader.section("noise"));
  c.channel_weights = ChannelWeightsConfig::from(reader.section("channel_weights"));
  c.log_loss_above = reader.get<double>("log_loss_above", c.log_loss_above, 0.0, 1e6);
  c.optimizer = OptimizerConfig::from(reader.section("optimizer"));
  c.distill = DistillConfig::from(reader.section("distill"));
  c.validation = ValidationConfig::from(reader.section("validation"));
  c.checkpoint_minutes = reader.get<double>("checkpoint_minutes", c.checkpoint_minutes, 0.0, 1e6);
  c.keep_checkpoints = reader.get<int64_t>("keep_checkpoints", c.keep_checkpoints, 1, 1 << 20);
  c.log_every = reader.get<int64_t>("log_every", c.log_every, 1, 1 << 20);
  for (const ConfigReader& part : reader.sections("phases")) {
    Phase phase;
    phase.from = part.get<int64_t>("from", 0, 0, int64_t{1} << 40);
    phase.window = part.get<int64_t>("window", phase.window, 2, 1 << 20);
    if ((phase.window - 1) % c.model.chunk_size != 0) {
      fail("{}: window is {}; expected 1 + a multiple of the chunk size {}", part.where(),
           phase.window, c.model.chunk_size);
    }
    phase.history = HistoryAccessConfig::from(part.section("history"));
    if (phase.history.new_share < 1 && !c.noise.past_copies) {
      fail("{}: history.new_share is {}; below 1 it needs past copies: set noise.past_copies",
           part.where(), phase.history.new_share);
    }
    for (const ConfigReader& data : part.sections("data")) {
      phase.data.push_back(
          {data.get<std::string>("folder"), data.get<double>("weight", 1, 0, 1e9)});
    }
    if (phase.data.empty())
      fail("{}: no data; name at least one folder of latent clips", part.where());
    c.phases.push_back(phase);
  }
  if (c.phases.empty()) fail("{}: no phases; give one with its data", where);
  std::sort(c.phases.begin(), c.phases.end(),
            [](const Phase& a, const Phase& b) { return a.from < b.from; });
  if (c.phases.front().from != 0) fail("{}: no phase begins at update 0", where);
  reader.finish();
  return c;
}

const Phase& TrainConfig::phase(int64_t update) const {
  const Phase* current = &phases.front();
  for (const Phase& phase : phases) {
    if (phase.from <= update) current = &phase;
  }
  return *current;
}

}  // namespace loci::train
