// SPDX-License-Identifier: Apache-2.0
// Google Benchmark of single kernels at the sizes of the demo model (120 tokens, 2 heads) and of
// the 5B model (1,920 tokens, 24 heads), on one thread. Rates count multiplications and additions.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <benchmark/benchmark.h>

#include "loci/kernels/attention/attention.h"
#include "loci/kernels/delta_rule/delta_rule.h"
#include "loci/kernels/elementwise/head_map.h"

namespace loci::kernels {
namespace {

constexpr int64_t kChannels = 128;

void set_rate(benchmark::State& state, double operations) {
  state.counters["FLOP/s"] =
      benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"tokens", "heads"})->Args({120, 2})->Args({1920, 24});
  bench->Unit(benchmark::kMillisecond);
}

// Writes a chunk to the recurrent state, optionally with the backward pass.
void delta_rule(benchmark::State& bench, bool backward) {
  const int64_t tokens = bench.range(0), heads = bench.range(1);
  at::manual_seed(1);
  const at::Tensor state = at::zeros({heads, kChannels, kChannels});
  at::Tensor key = at::randn({heads, tokens, kChannels});
  key = (key / key.norm(2, -1, true)).requires_grad_(backward);
  const at::Tensor value = at::randn({heads, tokens, kChannels}).requires_grad_(backward);
  const at::Tensor beta = at::rand({heads, tokens}).requires_grad_(backward);
  const at::AutoGradMode gradients(backward);
  for (auto _ : bench) {
    const at::Tensor after = delta_write(state, key, value, beta);
    if (backward) after.sum().backward();
    benchmark::DoNotOptimize(after.const_data_ptr());
  }
  // Token by token: a read and a rank-one write of the state.
  const double forward = 4.0 * static_cast<double>(heads * tokens * kChannels * kChannels);
  set_rate(bench, backward ? 3 * forward : forward);
}
void delta_write_forward(benchmark::State& bench) { delta_rule(bench, false); }
void delta_write_with_backward(benchmark::State& bench) { delta_rule(bench, true); }
BENCHMARK(delta_write_forward)->Apply(sizes);
BENCHMARK(delta_write_with_backward)->Apply(sizes);

// Attention of a chunk to 34 retained frames and to itself, by loci and by libtorch.
using Attention = decltype(&attention);
void attend(benchmark::State& bench, Attention function, bool rotated,
            at::ScalarType dtype = at::kFloat) {
  constexpr int64_t kFrames = 34, kChunkFrames = 5;
  const int64_t tokens = bench.range(0), heads = bench.range(1);
  const int64_t frame = tokens / kChunkFrames;
  at::manual_seed(1);
  const SlotTensor key{at::randn({kFrames, 1, frame, heads, kChannels}).to(dtype), {}};
  const SlotTensor value{at::randn({kFrames, 1, frame, heads, kChannels}).to(dtype), {}};
  std::vector<int64_t> index(kFrames);
  for (int64_t i = 0; i < kFrames; ++i) index[i] = kFrames - 1 - i;
  std::optional<HeadMap> rotation;
  if (rotated) {
    rotation.emplace();
    rotation->rotations = {{.begin = 0, .pairs = 22, .adjacent = true}};
    rotation->cosine = at::rand({kFrames * frame, 22});
    rotation->sine = at::rand({kFrames * frame, 22});
  }
  const AttentionPast past(key, value, index, dtype, at::kCPU, rotation);
  const at::Tensor query = at::randn({1, tokens, heads, kChannels}).to(dtype);
  const at::NoGradGuard no_grad;
  for (auto _ : bench) {
    const at::Tensor out = function(query, query, query, &past);
    benchmark::DoNotOptimize(out.const_data_ptr());
  }
  set_rate(bench, 4.0 * static_cast<double>(heads * tokens * (past.tokens() + tokens) * kChannels));
}
void attention_past_rotated(benchmark::State& bench) { attend(bench, attention, true); }
void attention_past_in_place(benchmark::State& bench) { attend(bench, attention, false); }
void attention_libtorch(benchmark::State& bench) { attend(bench, attention_by_libtorch, false); }
void attention_bf16_past_rotated(benchmark::State& bench) {
  attend(bench, attention, true, at::kBFloat16);
}
void attention_bf16_past_in_place(benchmark::State& bench) {
  attend(bench, attention, false, at::kBFloat16);
}
void attention_bf16_libtorch(benchmark::State& bench) {
  attend(bench, attention_by_libtorch, false, at::kBFloat16);
}
BENCHMARK(attention_past_rotated)->Apply(sizes);
BENCHMARK(attention_past_in_place)->Apply(sizes);
BENCHMARK(attention_libtorch)->Apply(sizes);
BENCHMARK(attention_bf16_past_rotated)->Apply(sizes);
BENCHMARK(attention_bf16_past_in_place)->Apply(sizes);
BENCHMARK(attention_bf16_libtorch)->Apply(sizes);

// Maps tiles of four channels by one matrix per token and rotates the other channels.
void projective_map(benchmark::State& bench) {
  const int64_t tokens = bench.range(0), heads = bench.range(1);
  at::manual_seed(1);
  HeadMap map;
  map.tiles = 16;
  map.matrices = at::randn({tokens, 4, 4});
  map.rotations = {{.begin = 64, .pairs = 32, .adjacent = true}};
  map.cosine = at::rand({tokens, 32});
  map.sine = at::rand({tokens, 32});
  const at::Tensor x = at::randn({1, tokens, heads, kChannels});
  const at::NoGradGuard no_grad;
  for (auto _ : bench) {
    const at::Tensor y = head_map(x, map);
    benchmark::DoNotOptimize(y.const_data_ptr());
  }
  bench.SetBytesProcessed(bench.iterations() * static_cast<int64_t>(2 * x.nbytes()));
}
BENCHMARK(projective_map)->Apply(sizes);

}  // namespace
}  // namespace loci::kernels

int main(int argc, char** argv) {
  at::set_num_threads(1);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
