// SPDX-License-Identifier: Apache-2.0
// Named parameters of a network, from a checkpoint or an initialiser. Networks are plain structs
// that get their tensors from a Scope while they are constructed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

namespace loci::model {

// Fills a new parameter; runs without gradient.
using Initialiser = std::function<void(at::Tensor& parameter, at::Generator& generator)>;

namespace init {
void zeros(at::Tensor& parameter, at::Generator& generator);
void ones(at::Tensor& parameter, at::Generator& generator);
Initialiser constant(double value);
Initialiser normal(double deviation);
// Uniform in ±1/sqrt(fan_in), libtorch's default for linear layers and convolutions.
Initialiser fan_in(int64_t fan_in);
}  // namespace init

struct Parameter {
  std::string name;
  at::Tensor tensor;
};

// Differences between a checkpoint and the network that was constructed from it.
struct LoadReport {
  std::vector<std::string> missing;     // initialised instead of loaded
  std::vector<std::string> unexpected;  // in the checkpoint, but not used by the network
  std::vector<std::string> misshapen;   // "name: [2, 3] in the file, [2, 4] expected"; not used
  bool clean() const { return missing.empty() && unexpected.empty() && misshapen.empty(); }
  // One line that lists all of them.
  std::string text() const;
};

// Provides the tensors of a network under construction and keeps them in the order of the requests.
class Parameters {
 public:
  // The tensor of that name, or an undefined tensor.
  using Source = std::function<at::Tensor(const std::string& name)>;

  struct Options {
    at::ScalarType dtype = at::kFloat;
    at::Device device = at::kCPU;  // kMeta allocates nothing, for counting
    uint64_t seed = 0;             // for the initialisers
    // Whether the source may return shapes as in GGUF files, which have up to four dimensions:
    // without leading dimensions of 1, and with the outermost dimensions of a larger shape merged.
    bool gguf_shapes = false;
  };

  Parameters() : Parameters(Options()) {}
  explicit Parameters(Options options, Source source = {});

  // A parameter from the source, converted to the options' type and device (shared with the source
  // if both are equal already), or a new one from `initialise` if the source does not have it.
  at::Tensor add(const std::string& name, at::IntArrayRef shape, const Initialiser& initialise);

  // A parameter with its own type: quantized weights and their scales.
  at::Tensor add_exact(const std::string& name, at::IntArrayRef shape, at::ScalarType type,
                       const Initialiser& initialise);

  // Replaces the parameter's tensor, possibly by one with another layout, and releases the old one.
  void replace(const std::string& name, at::Tensor tensor);

  const std::vector<Parameter>& all() const { return all_; }
  // Releases the source after construction, so that its file can be closed.
  void release_source() { source_ = {}; }
  // Missing and misshapen parameters so far, and the names of the checkpoint (`available`) that
  // were not used.
  LoadReport report(const std::vector<std::string>& available) const;

  uint64_t count() const;  // elements
  uint64_t bytes() const;
  void set_requires_grad(bool value) const;
  const Options& options() const { return options_; }

 private:
  // Initialises `tensor` with the random numbers of `name`.
  void start(const std::string& name, at::Tensor& tensor, const Initialiser& initialise) const;

  Options options_;
  Source source_;
  std::vector<Parameter> all_;
  std::map<std::string, size_t> index_;
  LoadReport report_;
};

// A prefix of parameter names: scope["attn1"]["to_q"].parameter("weight", …).
class Scope {
 public:
  explicit Scope(Parameters& parameters, std::string prefix = "")
      : parameters_(&parameters), prefix_(std::move(prefix)) {}

  Scope operator[](std::string_view child) const {
    return Scope(*parameters_,
                 prefix_.empty() ? std::string(child) : prefix_ + "." + std::string(child));
  }
  Scope operator[](int64_t child) const { return (*this)[std::to_string(child)]; }
  const std::string& name() const { return prefix_; }

  at::Tensor parameter(std::string_view name, at::IntArrayRef shape,
                       const Initialiser& initialise) const {
    return parameters_->add((*this)[name].prefix_, shape, initialise);
  }
  at::Tensor exact(std::string_view name, at::IntArrayRef shape, at::ScalarType type,
                   const Initialiser& initialise) const {
    return parameters_->add_exact((*this)[name].prefix_, shape, type, initialise);
  }
  void replace(std::string_view name, at::Tensor tensor) const {
    parameters_->replace((*this)[name].prefix_, std::move(tensor));
  }

 private:
  Parameters* parameters_;
  std::string prefix_;
};

}  // namespace loci::model
