// SPDX-License-Identifier: Apache-2.0
// loci bench block
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include "loci/app/bench/bench_commands.h"
#include "loci/app/bench/measure_block.h"
#include "loci/app/bench/torch_script.h"
#include "loci/app/cli/command.h"
#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/machine.h"
#include "loci/base/text.h"
#include "loci/kernels/machine/cpu_features.h"
#include "loci/kernels/machine/peak.h"
#include "loci/model/transformer/block_work.h"
#include "loci/model/transformer/transformer.h"
#include "loci/model/weights/summary.h"

namespace loci::app {

namespace {

using eval::BlockKind;

constexpr int64_t kPixelsPerLatent = 16;

// The demo model at 192x128 and the 5B model at 768x512 pixels.
std::vector<BlockPreset> presets() {
  model::TransformerConfig mini;
  mini.heads = 2;
  mini.layers = 8;
  mini.patch = 1;
  mini.ffn_dim = 1024;
  mini.text_dim = 128;
  mini.text_len = 64;
  mini.freq_dim = 128;
  mini.hybrid_layers = {1, 3, 5, 6};
  mini.camera_attn_compress = 2;
  return {{"mini", mini, {8, 12}}, {"wan5b", model::TransformerConfig(), {16, 24}}};
}

template <typename List>
std::vector<std::string> names_in(const List& list) {
  std::vector<std::string> names;
  for (const auto& each : list) names.emplace_back(each.name);
  return names;
}

// CPU seconds of all blocks of a model, extrapolated from one softmax block and one hybrid block.
struct Forward {
  double loci = 0, softmax = 0;
};

Forward whole_forward(const BlockPreset& preset, const std::vector<BlockRow>& rows,
                      const std::string& history, bool torch) {
  const auto cost = [&](BlockKind kind) {
    const BlockRow& row = *std::find_if(rows.begin(), rows.end(), [&](const BlockRow& each) {
      return each.kind == kind && each.history == history;
    });
    return torch ? row.torch->processor : row.ours.processor;
  };
  int64_t hybrid = 0;
  for (int64_t layer = 0; layer < preset.config.layers; ++layer) {
    hybrid += preset.config.is_hybrid(layer) ? 1 : 0;
  }
  const auto layers = static_cast<double>(preset.config.layers), memory = double(hybrid);
  return {(layers - memory) * cost(BlockKind::kSoftmax) + memory * cost(BlockKind::kHybrid),
          layers * cost(BlockKind::kSoftmax)};
}

Json to_json(const BlockRow& row, double peak) {
  Json json = {{"block", eval::name_of(row.kind)},
               {"history", row.history},
               {"past_frames", row.past_frames},
               {"keys", row.keys},
               {"linear_flop", row.work.linears},
               {"attention_flop", row.work.attention},
               {"recurrent_flop", row.work.recurrent},
               {"seconds", row.ours.seconds},
               {"processor_seconds", row.ours.processor},
               {"flops", row.work.total() / row.ours.processor},
               {"share_of_peak", row.work.total() / row.ours.processor / peak}};
  if (row.torch) {
    json["torch_seconds"] = row.torch->seconds;
    json["torch_processor_seconds"] = row.torch->processor;
    json["ratio"] = row.torch->processor / row.ours.processor;
    json["difference"] = row.error;
  }
  return json;
}

void print(const BlockRow& row, double peak) {
  const double rate = row.work.total() / row.ours.processor;
  fmt::print("{:<9}{:<19}{:>7}{:>9.1f}{:>11.1f}{:>11.1f}{:>10.3f}{:>10.3f}{:>10.1f}{:>9.0f} %",
             eval::name_of(row.kind), fmt::format("{}, {} frames", row.history, row.past_frames),
             row.keys, row.work.linears / 1e9, row.work.attention / 1e9, row.work.recurrent / 1e9,
             row.ours.seconds, row.ours.processor, rate / 1e9, 100 * rate / peak);
  if (row.torch) {
    fmt::print("{:>11.3f}{:>8.2f}x", row.torch->processor,
               row.torch->processor / row.ours.processor);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

Json report(const BenchBlockOptions& o, const BlockPreset& preset, double peak) {
  return {{"preset", preset.name},
          {"config", preset.config.to_json()},
          {"tokens", preset.config.chunk_size * preset.grid.tokens()},
          {"dtype", o.dtype},
          {"torch_dtype", o.torch_dtype},
          {"kv", o.kv},
          {"commit", o.commit},
          {"threads", at::get_num_threads()},
          {"isa", kernels::name_of(kernels::isa_level())},
          {"peak_flops", peak}};
}

void finish(const BenchBlockOptions& o, const Json& json) {
  if (o.json) fmt::print("{}\n", json.dump(2));
  if (!o.out.empty()) write_file(o.out, json.dump(2) + "\n");
}

void run_blocks(const BenchBlockOptions& o, const BlockPreset& preset, double peak) {
  const eval::BlockPair blocks(preset.config, preset.grid, chosen(kBlockDtypes, o.dtype).type);
  if (!o.json) {
    fmt::print("{:<9}{:<19}{:>7}{:>9}{:>11}{:>11}{:>10}{:>10}{:>10}{:>11}{}\n", "block", "history",
               "keys", "linears", "attention", "recurrent", "s", "CPU s", "GFLOP/s", "of peak",
               o.compare.empty() ? "" : "    PyTorch    ratio");
  }
  std::vector<BlockRow> rows;
  for (const std::string& history : o.histories) {
    for (const BlockRow& row : measure_blocks(o, preset, blocks, history)) {
      rows.push_back(row);
      if (!o.json) print(row, peak);
    }
  }
  Json json = report(o, preset, peak);
  for (const BlockRow& row : rows) json["rows"].push_back(to_json(row, peak));
  // Ratios of forward times: the hybrid model to full softmax with the same history, and a bounded
  // to a dense history.
  if (!o.json) fmt::print("all {} blocks, CPU s:\n", preset.config.layers);
  for (const std::string& history : o.histories) {
    const Forward ours = whole_forward(preset, rows, history, false);
    json["forward"][history] = {{"loci_processor_seconds", ours.loci},
                                {"softmax_processor_seconds", ours.softmax},
                                {"loci_by_softmax", ours.loci / ours.softmax}};
    if (!o.json) {
      fmt::print("  {:<7} LOCI {:.3f}, full softmax {:.3f}: {:.3f}x\n", history, ours.loci,
                 ours.softmax, ours.loci / ours.softmax);
    }
    if (o.compare.empty()) continue;
    const Forward theirs = whole_forward(preset, rows, history, true);
    json["forward"][history]["torch_loci_processor_seconds"] = theirs.loci;
    json["forward"][history]["torch_ratio"] = theirs.loci / ours.loci;
    if (!o.json) {
      fmt::print("  {:<7} LOCI in PyTorch {:.3f}: {:.2f}x\n", history, theirs.loci,
                 theirs.loci / ours.loci);
    }
  }
  if (o.histories.size() == 2) {
    const Forward sparse = whole_forward(preset, rows, "sparse", false);
    const Forward dense = whole_forward(preset, rows, "dense", false);
    json["forward"]["sparse_by_dense"] = sparse.loci / dense.loci;
    json["forward"]["sparse_by_dense_softmax"] = sparse.loci / dense.softmax;
    if (!o.json) {
      fmt::print(
          "LOCI sparse by dense over the first {:.0f} s: {:.3f}x of LOCI, {:.3f}x of full "
          "softmax\n",
          o.seconds, sparse.loci / dense.loci, sparse.loci / dense.softmax);
    }
  }
  finish(o, json);
}

// One forward pass of the whole model with random weights.
void run_whole(const BenchBlockOptions& o, const BlockPreset& preset, double peak) {
  const at::NoGradGuard no_grad;
  const model::TransformerConfig& config = preset.config;
  const BlockDtype dtype = chosen(kBlockDtypes, o.dtype);
  const std::string& history = o.histories.front();
  const auto parameters = std::make_shared<model::Parameters>(
      model::Parameters::Options{.dtype = dtype.type, .seed = 1});
  const model::Transformer transformer(config, parameters);
  const eval::ChunkStep step(config, step_options(o, preset, history));
  const model::TextKeys text =
      transformer.text_keys(at::randn({1, config.text_len, config.text_dim}));
  model::ForwardContext context = step.context();
  context.visible.text = &text;
  context.memory.write_states = o.commit;
  const at::Tensor latents =
      at::randn({1, config.channels, config.chunk_size, preset.grid.rows * config.patch,
                 preset.grid.columns * config.patch});
  const at::Tensor timesteps = at::full({1, config.chunk_size}, 500.0);
  double work = 0;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    work += model::block_work(config, config.is_hybrid(layer), step.tokens(), step.past_tokens(),
                              o.commit)
                .total();
  }
  bool finite = false;
  const eval::CallCost cost = eval::cost_of([&] {
    model::ForwardContext given = context;
    finite = at::isfinite(transformer.forward(latents, timesteps, given)).all().item<bool>();
  });
  if (!finite) fail_check("the forward pass gave NaN or infinite values");
  const ProcessMemory memory = process_memory().value_or(ProcessMemory());
  const uint64_t weights = parameters->bytes(), count = model::count_parameters(config).total();
  Json json = report(o, preset, peak);
  json["whole"] = {{"history", history},
                   {"past_frames", step.options().past_frames},
                   {"parameters", count},
                   {"weight_bytes", weights},
                   {"history_bytes", step.store_bytes()},
                   {"staged_bytes", step.staged_bytes()},
                   {"peak_resident_bytes", memory.peak},
                   {"block_flop", work},
                   {"seconds", cost.seconds},
                   {"processor_seconds", cost.processor},
                   {"share_of_peak", work / cost.processor / peak}};
  if (!o.json) {
    fmt::print("{:.2f} G parameters, {}; {} history of {} frames, {}, staged {}\n",
               static_cast<double>(count) / 1e9, format_bytes(weights), history,
               step.options().past_frames, format_bytes(static_cast<uint64_t>(step.store_bytes())),
               format_bytes(static_cast<uint64_t>(step.staged_bytes())));
    fmt::print("one step: {:.3f} s, {:.3f} CPU s, {:.1f} GFLOP/s, {:.0f} % of peak\n", cost.seconds,
               cost.processor, work / cost.processor / 1e9, 100 * work / cost.processor / peak);
    fmt::print("peak resident memory: {}\n", format_bytes(memory.peak));
  }
  finish(o, json);
}

void run_bench_block(const BenchBlockOptions& given) {
  BenchBlockOptions o = given;
  std::sort(o.histories.begin(), o.histories.end(), std::greater());  // sparse first
  o.histories.erase(std::unique(o.histories.begin(), o.histories.end()), o.histories.end());
  BlockPreset preset = chosen(presets(), o.preset);
  const int64_t pixels = kPixelsPerLatent * preset.config.patch;  // per side of a token
  for (const int64_t side : {o.width, o.height}) {
    if (side % pixels != 0)
      fail("--width and --height: {} is not a multiple of {} pixels", side, pixels);
  }
  if (o.whole && !o.compare.empty()) {
    fail("--whole and --compare cannot be combined: PyTorch runs single blocks only");
  }
  if (!o.compare.empty()) check_torch_script(o.python, o.script);
  preset.config.quantization = chosen(kBlockDtypes, o.dtype).quantization;
  if (o.width > 0) preset.grid.columns = o.width / pixels;
  if (o.height > 0) preset.grid.rows = o.height / pixels;
  // Peak of one core, since CPU seconds sum over all threads. Without BF16 instructions, BF16
  // values are widened to FP32. INT8 products have a higher peak, but attention does not use them.
  const auto measured = [](kernels::Arithmetic kind) { return kernels::measure_peak(kind, 0.5); };
  const std::optional<double> bf16 = chosen(kBlockDtypes, o.dtype).type == at::kBFloat16
                                         ? measured(kernels::Arithmetic::kBfloat16)
                                         : std::nullopt;
  const double peak = bf16 ? *bf16 : *measured(kernels::Arithmetic::kFloat);
  if (!o.json) {
    fmt::print("{}, {} tokens per chunk, {}, {}, {} threads; peak of one core: {:.1f} GFLOP/s\n",
               preset.name, preset.config.chunk_size * preset.grid.tokens(), o.dtype,
               kernels::name_of(kernels::isa_level()), at::get_num_threads(), peak / 1e9);
  }
  if (o.whole) {
    run_whole(o, preset, peak);
  } else {
    run_blocks(o, preset, peak);
  }
}

}  // namespace

void add_bench_block(CLI::App& app) {
  app.description(
      "Measure a softmax block and a hybrid block: speed, share of the processor's peak, and "
      "optionally the same in PyTorch");
  auto o = std::make_shared<BenchBlockOptions>();
  app.add_option("--preset", o->preset, "model size: the demo model (mini) or the 5B model (wan5b)")
      ->check(one_of(names_in(presets())))
      ->capture_default_str();
  app.add_option("--width", o->width, "frame width in pixels; 0 = the preset's")
      ->check(CLI::Range(0, 8192))
      ->capture_default_str();
  app.add_option("--height", o->height, "frame height in pixels; 0 = the preset's")
      ->check(CLI::Range(0, 8192))
      ->capture_default_str();
  app.add_option("--dtype", o->dtype,
                 "data type of weights; with int8 and int4 activations are bf16")
      ->check(one_of(names_in(kBlockDtypes)))
      ->capture_default_str();
  app.add_option(
         "--history", o->histories,
         "sparse: 29 retained frames; dense: the mean number of frames over the first --seconds")
      ->delimiter(',')
      ->check(one_of({"sparse", "dense"}))
      ->capture_default_str();
  app.add_option("--seconds", o->seconds,
                 "video length in seconds that a dense history is averaged over")
      ->type_name("S")
      ->check(number_in(1.0, 3600.0))
      ->capture_default_str();
  add_kv_options(app, o->kv, o->staging_mib);
  app.add_option("--repeats", o->repeats, "number of repetitions; the fastest counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--commit", o->commit,
               "measure the commit pass, which also writes the recurrent state");
  app.add_flag("--whole", o->whole,
               "run all blocks of the model once with random weights: time and peak memory");
  app.add_option("--compare", o->compare,
                 "also run the same computation in PyTorch and check that the results agree")
      ->check(one_of({"torch"}));
  app.add_option("--torch-dtype", o->torch_dtype,
                 "data type in PyTorch; same = --dtype, or bf16 for int8 and int4")
      ->check(one_of(std::vector<std::string>(kTorchDtypes.begin(), kTorchDtypes.end())))
      ->capture_default_str();
  app.add_option("--python", o->python, "Python interpreter with torch")->capture_default_str();
  app.add_option("--script", o->script, "PyTorch script")->capture_default_str();
  app.add_option("--out", o->out, "write JSON to this file")->type_name("FILE");
  app.add_flag("--json", o->json, "print JSON");
  examples(app, {{"loci --threads 1 bench block --compare torch",
                  "blocks of the demo model, in loci and in PyTorch"},
                 {"loci --threads 1 bench block --preset wan5b --dtype bf16 --repeats 1",
                  "blocks of the 5B model; takes minutes"},
                 {"loci bench block --preset wan5b --dtype bf16 --whole --history sparse",
                  "all 30 blocks; needs 16 GiB"},
                 {"loci bench block --preset wan5b --dtype int8 --kv int8 --staging 512 --whole "
                  "--history sparse",
                  "the same in 9 GiB"}});
  app.callback([o] { run_bench_block(*o); });
}

}  // namespace loci::app
