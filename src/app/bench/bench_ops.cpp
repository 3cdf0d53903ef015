// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>

#include "loci/app/bench/bench_commands.h"
#include "loci/app/cli/command.h"
#include "loci/base/config.h"
#include "loci/eval/cost/block_cost.h"
#include "loci/kernels/attention/attention.h"
#include "loci/kernels/convolution/conv_3x3.h"
#include "loci/kernels/delta_rule/delta_rule.h"
#include "loci/kernels/elementwise/gelu.h"
#include "loci/kernels/elementwise/head_map.h"
#include "loci/kernels/elementwise/residual_norm.h"
#include "loci/kernels/elementwise/rms_norm.h"
#include "loci/kernels/linear/packed_linear.h"
#include "loci/kernels/linear/wide_linear.h"
#include "loci/kernels/machine/cpu_features.h"
#include "loci/kernels/machine/peak.h"

namespace loci::app {

namespace {

constexpr int64_t kChannels = 128, kChunkFrames = 5, kPastFrames = 34, kWindowFrames = 21;

struct Options {
  std::string preset = "mini";
  double seconds = 1;
  bool json = false;
};

// Sizes of one block for one chunk.
struct Sizes {
  int64_t tokens, heads, ffn;
};

// One measurement: the same computation by a loci kernel and by operators of libtorch.
struct Row {
  std::string name, size;
  double operations = 0;          // floating-point multiplications and additions
  double bytes = 0;               // minimum memory traffic, for kernels limited by it
  double ours = 0, libtorch = 0;  // seconds
  // Type of the multiplications, if the processor has instructions for it. Its peak is the limit.
  kernels::Arithmetic arithmetic = kernels::Arithmetic::kFloat;
};

// One thread is measured in CPU time, which excludes other processes. Several threads, which wait
// for each other, are measured in elapsed time.
double seconds_of(double again, const std::function<at::Tensor()>& call) {
  call();
  const eval::CallCost cost = eval::cost_of([&] { call(); }, again);
  return at::get_num_threads() == 1 ? cost.processor : cost.seconds;
}

// Both alternate, so that disturbances affect both.
void compare(Row& row, double seconds, const std::function<at::Tensor()>& ours,
             const std::function<at::Tensor()>& libtorch) {
  row.ours = row.libtorch = 1e300;
  for (int turn = 0; turn < 3; ++turn) {
    row.ours = std::min(row.ours, seconds_of(seconds / 6, ours));
    row.libtorch = std::min(row.libtorch, seconds_of(seconds / 6, libtorch));
  }
}

Row attention_row(const Sizes& s, double seconds, bool rotated, at::ScalarType dtype) {
  const int64_t frame = s.tokens / kChunkFrames;
  const std::vector<int64_t> shape = {kPastFrames, 1, frame, s.heads, kChannels};
  std::vector<int64_t> index(kPastFrames);
  std::iota(index.rbegin(), index.rend(), int64_t{0});
  std::optional<kernels::HeadMap> rotation;
  if (rotated) {
    rotation.emplace();
    rotation->rotations = {{.begin = 0, .pairs = 22, .adjacent = true}};
    const at::Tensor angle = at::rand({kPastFrames * frame, 22});
    rotation->cosine = angle.cos();
    rotation->sine = angle.sin();
  }
  const kernels::AttentionPast past({at::randn(shape).to(dtype), {}},
                                    {at::randn(shape).to(dtype), {}}, index, dtype, at::kCPU,
                                    rotation);
  const at::Tensor x = at::randn({1, s.tokens, s.heads, kChannels}).to(dtype);
  const int64_t keys = past.tokens() + s.tokens;
  const bool bf16 = dtype == at::kBFloat16;
  Row row{.name = fmt::format("attention{}, {}", bf16 ? " BF16" : "",
                              rotated ? "rotated past" : "past in place"),
          .size = fmt::format("{} x {} keys, {} heads", s.tokens, keys, s.heads)};
  row.operations = 4.0 * static_cast<double>(s.tokens * keys * s.heads * kChannels);
  if (bf16) row.arithmetic = kernels::Arithmetic::kBfloat16;
  const at::Tensor all_keys = at::cat({past.keys(), x}, 1),
                   all_values = at::cat({past.values(), x}, 1);
  compare(
      row, seconds, [&] { return kernels::attention(x, x, x, &past); },
      [&] { return kernels::attention_by_libtorch(x, all_keys, all_values); });
  return row;
}

kernels::HeadMap projective_map(int64_t tokens) {
  kernels::HeadMap map;
  map.tiles = 16;
  map.matrices = at::randn({tokens, 4, 4});
  map.rotations = {{.begin = 64, .pairs = 32, .adjacent = true}};
  map.cosine = at::rand({tokens, 32});
  map.sine = at::rand({tokens, 32});
  return map;
}

Row map_row(const Sizes& s, double seconds) {
  const kernels::HeadMap map = projective_map(s.tokens);
  const at::Tensor x = at::randn({1, s.tokens, s.heads, kChannels});
  Row row{.name = "projective map", .size = fmt::format("{} tokens, {} heads", s.tokens, s.heads)};
  row.bytes = 2.0 * static_cast<double>(x.nbytes());
  compare(
      row, seconds, [&] { return kernels::head_map(x, map); },
      [&] { return kernels::head_map_by_libtorch(x, map); });
  return row;
}

// The operations after a readout of the recurrent state.
Row readout_row(const Sizes& s, double seconds) {
  const kernels::HeadMap map = projective_map(s.tokens);
  const at::Tensor x = at::randn({1, s.tokens, s.heads, kChannels}), local = at::randn_like(x);
  const at::Tensor gate = at::rand({1, s.tokens, s.heads});
  Row row{.name = "map, gate, add", .size = fmt::format("{} tokens, {} heads", s.tokens, s.heads)};
  row.bytes = 3.0 * static_cast<double>(x.nbytes());
  compare(
      row, seconds, [&] { return kernels::add_gated_head_map(local, gate, x, map); },
      [&] { return kernels::add_gated_head_map_by_libtorch(local, gate, x, map); });
  return row;
}

// Elementwise chains between the matrix products of one chunk.
Row norm_row(const Sizes& s, double seconds) {
  const int64_t width = s.heads * kChannels;
  const at::Tensor x = at::randn({1, s.tokens, width}), y = at::randn_like(x);
  const at::Tensor gate = at::randn({1, kChunkFrames, 1, width});
  const kernels::NormAffine norm{.scale = at::randn_like(gate), .shift = at::randn_like(gate)};
  Row row{.name = "gate, add, norm, modulate",
          .size = fmt::format("{} tokens, width {}", s.tokens, width)};
  row.bytes = 4.0 * static_cast<double>(x.nbytes());
  compare(
      row, seconds, [&] { return kernels::gated_add_norm(x, gate, y, norm).second; },
      [&] {
        return kernels::affine_norm_by_libtorch(kernels::gated_add_by_libtorch(x, gate, y), norm);
      });
  return row;
}

Row rotary_row(const Sizes& s, double seconds) {
  const at::Tensor x = at::randn({1, s.tokens, s.heads * kChannels});
  const at::Tensor weight = at::randn({s.heads * kChannels});
  kernels::HeadMap map;
  map.rotations = {{.begin = 0, .pairs = kChannels / 2, .adjacent = true}};
  const at::Tensor angle = at::rand({s.tokens, kChannels / 2});
  map.cosine = angle.cos();
  map.sine = angle.sin();
  Row row{.name = "RMS norm, rotary",
          .size = fmt::format("{} tokens, {} heads", s.tokens, s.heads)};
  row.bytes = 2.0 * static_cast<double>(x.nbytes());
  compare(
      row, seconds,
      [&] { return kernels::rms_norm_heads(x, weight, 1e-6, s.heads, map, false).mapped; },
      [&] {
        return kernels::head_map_by_libtorch(
            kernels::rms_norm_by_libtorch(x, weight, 1e-6).unflatten(-1, {s.heads, kChannels}),
            map);
      });
  return row;
}

Row gelu_row(const Sizes& s, double seconds) {
  const at::Tensor x = at::randn({1, s.tokens, s.ffn});
  Row row{.name = "GELU", .size = fmt::format("{} x {}", s.tokens, s.ffn)};
  row.bytes = 2.0 * static_cast<double>(x.nbytes());
  compare(
      row, seconds, [&] { return kernels::gelu(x); }, [&] { return at::gelu(x, "tanh"); });
  return row;
}

// A computation of the given leaves. Measures the backward pass through both versions of it.
using Graph = std::function<at::Tensor(const std::vector<at::Tensor>&)>;
void compare_gradients(Row& row, double seconds, std::vector<at::Tensor> inputs, const Graph& ours,
                       const Graph& libtorch) {
  const at::AutoGradMode with_grad(true);
  for (at::Tensor& x : inputs) x.set_requires_grad(true);
  const at::Tensor by_us = ours(inputs), by_libtorch = libtorch(inputs);
  const at::Tensor gradient = at::randn_like(by_us);
  const auto back = [&](const at::Tensor& out) {
    return torch::autograd::grad({out}, inputs, {gradient}, /*retain_graph=*/true).front();
  };
  compare(
      row, seconds, [&] { return back(by_us); }, [&] { return back(by_libtorch); });
}

// The last chunk of a training window, which attends to the whole window.
Row attention_gradient_row(const Sizes& s, double seconds, at::ScalarType dtype) {
  const int64_t keys = s.tokens / kChunkFrames * kWindowFrames;
  const auto random = [&](int64_t tokens) {
    return at::randn({1, tokens, s.heads, kChannels}).to(dtype);
  };
  Row row{.name = fmt::format("attention{}, gradient", dtype == at::kBFloat16 ? " BF16" : ""),
          .size = fmt::format("{} x {} keys, {} heads", s.tokens, keys, s.heads)};
  row.operations = 10.0 * static_cast<double>(s.tokens * keys * s.heads * kChannels);
  if (dtype == at::kBFloat16) row.arithmetic = kernels::Arithmetic::kBfloat16;
  compare_gradients(
      row, seconds, {random(s.tokens), random(keys), random(keys)},
      [](const std::vector<at::Tensor>& x) { return kernels::attention(x[0], x[1], x[2]); },
      [](const std::vector<at::Tensor>& x) {
        return kernels::attention_by_libtorch(x[0], x[1], x[2]);
      });
  return row;
}

// State, keys, values and beta of a chunk.
std::vector<at::Tensor> delta_inputs(const Sizes& s) {
  const at::Tensor key = at::randn({s.heads, s.tokens, kChannels});
  return {at::zeros({s.heads, kChannels, kChannels}), key / key.norm(2, -1, true),
          at::randn({s.heads, s.tokens, kChannels}), at::rand({s.heads, s.tokens})};
}

// Only products with the state are counted: two in the write, four in its gradient.
Row delta_row(const Sizes& s, double seconds) {
  const std::vector<at::Tensor> x = delta_inputs(s);
  Row row{.name = "delta rule, write",
          .size = fmt::format("{} tokens, {} heads", s.tokens, s.heads)};
  row.operations = 4.0 * static_cast<double>(s.heads * s.tokens * kChannels * kChannels);
  compare(
      row, seconds, [&] { return kernels::delta_write(x[0], x[1], x[2], x[3]); },
      [&] { return kernels::delta_write_by_libtorch(x[0], x[1], x[2], x[3]); });
  return row;
}

Row delta_gradient_row(const Sizes& s, double seconds) {
  Row row{.name = "delta rule, gradient",
          .size = fmt::format("{} tokens, {} heads", s.tokens, s.heads)};
  row.operations = 8.0 * static_cast<double>(s.heads * s.tokens * kChannels * kChannels);
  compare_gradients(
      row, seconds, delta_inputs(s),
      [](const std::vector<at::Tensor>& x) { return kernels::delta_write(x[0], x[1], x[2], x[3]); },
      [](const std::vector<at::Tensor>& x) {
        return kernels::delta_write_by_libtorch(x[0], x[1], x[2], x[3]);
      });
  return row;
}

// A convolution in the training of a small autoencoder: the gradients of pictures and weight. The
// former is libtorch's in both versions.
Row convolution_gradient_row(double seconds) {
  constexpr int64_t kFrames = 9, kHeight = 32, kWidth = 48, kMaps = 48;
  Row row{.name = "3x3 convolution, gradient",
          .size = fmt::format("{} x {}x{}, {} -> {}", kFrames, kWidth, kHeight, kMaps, kMaps)};
  row.operations = 4.0 * static_cast<double>(kFrames * kHeight * kWidth * 9 * kMaps * kMaps);
  compare_gradients(
      row, seconds,
      {at::randn({kFrames, kHeight, kWidth, kMaps}),
       at::randn({kMaps, 3, 3, kMaps}).permute({0, 3, 1, 2})},
      [](const std::vector<at::Tensor>& x) { return kernels::conv_3x3(x[0], x[1], {}); },
      [](const std::vector<at::Tensor>& x) {
        return kernels::conv_3x3_by_libtorch(x[0], x[1], {});
      });
  return row;
}

// libtorch's matrix product in FP32, as a reference for the other kernels.
Row linear_row(const Sizes& s, double seconds) {
  const at::Tensor x = at::randn({s.tokens, s.heads * kChannels});
  const at::Tensor weight = at::randn({s.ffn, s.heads * kChannels});
  Row row{.name = "linear, FP32 (libtorch)",
          .size = fmt::format("{} x {} -> {}", s.tokens, s.heads * kChannels, s.ffn)};
  row.operations = 2.0 * static_cast<double>(s.tokens * s.heads * kChannels * s.ffn);
  row.ours = row.libtorch = seconds_of(seconds / 2, [&] { return at::linear(x, weight); });
  return row;
}

// Linear layers with fewer bits, and libtorch's BF16, all compared with libtorch's FP32.
std::vector<Row> packed_rows(const Sizes& s, double seconds) {
  const int64_t in = s.heads * kChannels;
  const at::Tensor x = at::randn({s.tokens, in}), weight = at::randn({s.ffn, in});
  const at::Tensor half_x = x.to(at::kBFloat16), half_weight = weight.to(at::kBFloat16);
  const auto fp32 = [&] { return at::linear(x, weight); };
  Row row{.size = fmt::format("{} x {} -> {}", s.tokens, in, s.ffn)};
  row.operations = 2.0 * static_cast<double>(s.tokens * in * s.ffn);
  std::vector<Row> rows;
  for (const auto& [format, name] :
       {std::pair{kernels::WeightFormat::kBfloat16, "linear, BF16 weights"},
        std::pair{kernels::WeightFormat::kInt8, "linear, INT8"},
        std::pair{kernels::WeightFormat::kInt4, "linear, INT4 weights"}}) {
    const kernels::PackedLinear linear(kernels::quantize_weight(weight, format), {});
    row.name = name;
    row.arithmetic = format == kernels::WeightFormat::kInt8 ? kernels::Arithmetic::kInt8
                                                            : kernels::Arithmetic::kFloat;
    compare(
        row, seconds, [&] { return linear(x); }, fp32);
    rows.push_back(row);
  }
  row.name = "linear, BF16 widened";
  row.arithmetic = kernels::Arithmetic::kFloat;
  compare(
      row, seconds, [&] { return kernels::wide_linear(half_x, half_weight, {}); }, fp32);
  rows.push_back(row);
  row.name = "linear, BF16 (libtorch)";
  row.arithmetic = kernels::Arithmetic::kBfloat16;
  compare(
      row, seconds, [&] { return at::linear(half_x, half_weight); }, fp32);
  rows.push_back(row);
  return rows;
}

// Peak rates of the instruction set in use, without memory access, for all threads together.
struct Peaks {
  std::map<kernels::Arithmetic, double> rates;

  Peaks(double seconds, int threads) {
    for (const kernels::Arithmetic arithmetic :
         {kernels::Arithmetic::kFloat, kernels::Arithmetic::kBfloat16,
          kernels::Arithmetic::kInt8}) {
      if (const auto rate = kernels::measure_peak(arithmetic, seconds)) {
        rates[arithmetic] = *rate * threads;
      }
    }
  }
  // The peak that limits `row`. Types without instructions are widened to FP32.
  kernels::Arithmetic limit(const Row& row) const {
    return rates.contains(row.arithmetic) ? row.arithmetic : kernels::Arithmetic::kFloat;
  }
  std::string text() const {
    std::string list;
    for (const auto& [arithmetic, rate] : rates) {
      list += fmt::format("{}{:.1f} {}", list.empty() ? "" : ", ", rate / 1e9,
                          kernels::name_of(arithmetic));
    }
    return list;
  }
  Json json() const {
    Json all = Json::object();
    for (const auto& [arithmetic, rate] : rates) {
      all[std::string(kernels::name_of(arithmetic))] = rate;
    }
    return all;
  }
};

void run_bench_ops(const Options& o) {
  const at::NoGradGuard no_grad;
  at::manual_seed(1);
  const Sizes sizes = o.preset == "mini" ? Sizes{480, 2, 1024} : Sizes{1920, 24, 14336};
  const int threads = at::get_num_threads();
  const Peaks peaks(std::min(o.seconds, 1.0), threads);
  std::vector<Row> rows = {attention_row(sizes, o.seconds, true, at::kFloat),
                           attention_row(sizes, o.seconds, false, at::kFloat),
                           attention_row(sizes, o.seconds, true, at::kBFloat16),
                           attention_row(sizes, o.seconds, false, at::kBFloat16),
                           attention_gradient_row(sizes, o.seconds, at::kFloat),
                           attention_gradient_row(sizes, o.seconds, at::kBFloat16),
                           delta_row(sizes, o.seconds),
                           delta_gradient_row(sizes, o.seconds),
                           convolution_gradient_row(o.seconds),
                           map_row(sizes, o.seconds),
                           readout_row(sizes, o.seconds),
                           norm_row(sizes, o.seconds),
                           rotary_row(sizes, o.seconds),
                           gelu_row(sizes, o.seconds),
                           linear_row(sizes, o.seconds)};
  for (const Row& row : packed_rows(sizes, o.seconds)) rows.push_back(row);
  if (o.json) {
    Json list = Json::array();
    for (const Row& row : rows) {
      list.push_back({{"op", row.name},
                      {"size", row.size},
                      {"operations", row.operations},
                      {"bytes", row.bytes},
                      {"seconds", row.ours},
                      {"libtorch_seconds", row.libtorch},
                      {"peak", kernels::name_of(peaks.limit(row))},
                      {"ratio", row.libtorch / row.ours}});
    }
    const Json json = {{"preset", o.preset},
                       {"threads", threads},
                       {"isa", kernels::name_of(kernels::isa_level())},
                       {"peak_flops", peaks.json()},
                       {"rows", list}};
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{}, {} thread{}; peak in GFLOP/s: {}\n", kernels::name_of(kernels::isa_level()),
             threads, threads == 1 ? "" : "s", peaks.text());
  fmt::print("{:<31}{:<28}{:>10}{:>12}{:>16}{:>9}\n", "op", "size", "ms", "GFLOP/s", "of peak",
             "ratio");
  for (const Row& row : rows) {
    const bool moves = row.bytes > 0;
    const double rate = (moves ? row.bytes : row.operations) / row.ours / 1e9;
    fmt::print("{:<31}{:<28}{:>10.2f}{:>12}{:>16}{:>8.2f}x\n", row.name, row.size, 1e3 * row.ours,
               moves ? fmt::format("{:.1f} GB/s", rate) : fmt::format("{:.1f}", rate),
               moves ? "-"
                     : fmt::format("{:.0f} % {}", 1e11 * rate / peaks.rates.at(peaks.limit(row)),
                                   kernels::name_of(peaks.limit(row))),
               row.libtorch / row.ours);
  }
  fmt::print(
      "ratio: time of libtorch's operators divided by the time of the kernel; linear layers are "
      "compared with libtorch in FP32\n");
}

}  // namespace

void add_bench_ops(CLI::App& app) {
  app.description("Measure each kernel: speed, share of the processor's peak, ratio to libtorch");
  auto o = std::make_shared<Options>();
  app.add_option("--preset", o->preset, "block size: the demo model (mini) or the 5B model (wan5b)")
      ->check(one_of({"mini", "wan5b"}))
      ->capture_default_str();
  app.add_option("--seconds", o->seconds, "measuring time per row in seconds")
      ->type_name("S")
      ->check(number_in(0.01, 600.0))
      ->capture_default_str();
  app.add_flag("--json", o->json, "print JSON");
  examples(app, {{"loci bench ops", "sizes of the demo model"},
                 {"LOCI_ISA=plain loci bench ops", "kernels limited to plain code"},
                 {"loci --threads 1 bench ops --preset wan5b", "sizes of the 5B model"}});
  app.callback([o] { run_bench_ops(*o); });
}

}  // namespace loci::app
