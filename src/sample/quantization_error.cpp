// SPDX-License-Identifier: Apache-2.0
#include "loci/sample/quantization_error.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <span>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/progress.h"
#include "loci/camera/time_grid.h"

namespace loci::sample {

namespace {

// Sums of the squared differences and of the squared expected values.
struct Squares {
  double off = 0, all = 0;

  void add(const at::Tensor& got, const at::Tensor& wanted) {
    const at::Tensor right = wanted.to(at::kDouble);
    off += (got.to(at::kDouble) - right).square().sum().item<double>();
    all += right.square().sum().item<double>();
  }
  // Untrained branches give zeros. Their error is 0 if the quantized branch gives zeros, too.
  double relative() const { return off == 0 ? 0 : std::sqrt(off / all); }
};

// During its lifetime the large layers of `original` also pass every input to the same layer of
// `quantized` and accumulate the error. Their results do not change.
class Comparison {
 public:
  Comparison(model::Transformer& original, model::Transformer& quantized) : original_(original) {
    std::map<std::string, model::Linear> others;
    quantized.visit_large([&](const model::Linear& linear) { others[linear.name] = linear; });
    original_.visit_large([&](model::Linear& linear) {
      const auto other = others.find(linear.name);
      LOCI_CHECK(other != others.end(), "the layer {} is missing in the quantized model",
                 linear.name);
      before_.push_back(linear);
      names_.push_back(linear.name);
      Squares& squares = squares_[linear.name];
      linear.product = [plain = linear, other = other->second, &squares](
                           const at::Tensor& x, const kernels::LinearEpilogue& epilogue) {
        const at::Tensor y = plain(x);
        squares.add(other(x), y);
        return kernels::apply_epilogue(y, epilogue);
      };
    });
  }
  ~Comparison() {
    size_t next = 0;
    original_.visit_large([&](model::Linear& linear) { linear = before_[next++]; });
  }
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

  std::vector<QuantizationError::Layer> layers() const {
    std::vector<QuantizationError::Layer> layers;
    for (const std::string& name : names_) layers.push_back({name, squares_.at(name).relative()});
    return layers;
  }

 private:
  model::Transformer& original_;
  std::vector<model::Linear> before_;
  std::vector<std::string> names_;
  std::map<std::string, Squares> squares_;
};

// "blocks.12.attn1.to_q" → "attn1.to_q".
std::string kind_of(const std::string& name) {
  const size_t index = name.find('.'), rest = name.find('.', index + 1);
  return rest == std::string::npos ? name : name.substr(rest + 1);
}

// Error of the velocity of the latents at each of the solver's noise levels.
double velocity_error(const Stream& original, const Stream& quantized, const at::Tensor& latents) {
  const std::unique_ptr<Solver> solver = make_solver(original.options().solver);
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(original.options().seed);
  const at::Tensor noise = at::randn(latents.sizes(), generator, latents.options());
  Squares squares;
  for (int64_t i = 0; i < solver->steps(); ++i) {
    check_interrupt();
    const double level = solver->level(i);
    const at::Tensor x = latents * (1 - level) + noise * level;
    const at::Tensor times = at::full({1, x.size(2)}, solver->timestep(i), at::kFloat);
    squares.add(quantized.main().velocity(x, times), original.main().velocity(x, times));
  }
  return squares.relative();
}

}  // namespace

std::vector<QuantizationError::Kind> QuantizationError::kinds() const {
  std::vector<Kind> kinds;
  for (const Layer& layer : layers) {
    const std::string name = kind_of(layer.name);
    auto kind = std::find_if(kinds.begin(), kinds.end(),
                             [&](const Kind& known) { return known.name == name; });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), Kind{.name = name});
    ++kind->layers;
    kind->mean += layer.error;
    kind->worst = std::max(kind->worst, layer.error);
  }
  for (Kind& kind : kinds) kind.mean /= static_cast<double>(kind.layers);
  return kinds;
}

std::vector<QuantizationError::Layer> QuantizationError::worst(size_t count) const {
  std::vector<Layer> sorted = layers;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Layer& a, const Layer& b) { return a.error > b.error; });
  sorted.resize(std::min(count, sorted.size()));
  return sorted;
}

Json QuantizationError::to_json() const {
  Json by_kind = Json::object(), by_layer = Json::object();
  for (const Kind& kind : kinds()) {
    by_kind[kind.name] = {{"layers", kind.layers}, {"mean", kind.mean}, {"worst", kind.worst}};
  }
  for (const Layer& layer : layers) by_layer[layer.name] = layer.error;
  return {{"velocity_by_chunk", velocity}, {"kinds", by_kind}, {"layers", by_layer}};
}

QuantizationError measure_quantization(model::Transformer& original, model::Transformer& quantized,
                                       const QuantizationRun& run) {
  const at::NoGradGuard no_grad;
  const camera::TimeGrid grid = original.config().time_grid();
  const int64_t latents = std::ssize(run.cameras), chunks = grid.chunks_in_latents(latents);
  LOCI_CHECK(grid.whole_chunks(latents), "{} cameras; expected 1 + whole chunks of {}", latents,
             grid.latents_per_chunk);
  QuantizationError error;
  const Comparison comparison(original, quantized);
  Stream a(original, nullptr, run.options, run.prompt);
  Stream b(quantized, nullptr, run.options, run.prompt);
  const std::span cameras(run.cameras);
  for (Stream* stream : {&a, &b}) stream->accept(run.first, cameras.first(1));
  Progress progress("error report", static_cast<uint64_t>(chunks - 1), "chunks");
  for (int64_t chunk = 1; chunk < chunks; ++chunk) {
    const camera::IndexRange range = grid.latents_of_chunk(chunk);
    const auto part = cameras.subspan(range.begin, range.size());
    const Chunk made = a.push(part);
    b.replay(made.latents, part);
    // The open chunk includes a first frame that was generated together with it.
    const bool joint = grid.given_in_chunk && chunk == 1;
    error.velocity.push_back(
        velocity_error(a, b, joint ? at::cat({run.first, made.latents}, 2) : made.latents));
    progress.advance(1);
  }
  error.layers = comparison.layers();
  return error;
}

}  // namespace loci::sample
