// SPDX-License-Identifier: Apache-2.0
#include "loci/model/weights/parameters.h"

#include <algorithm>
#include <set>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "loci/base/error.h"
#include "loci/base/random.h"

namespace loci::model {

namespace {

uint64_t name_hash(std::string_view name) {  // FNV-1a, equal on every machine
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// The shape of a tensor in a GGUF file, without leading dimensions of 1.
std::vector<int64_t> gguf_shape(at::IntArrayRef shape) {
  std::vector<int64_t> stored = shape.vec();
  while (stored.size() > 4) {
    stored[1] *= stored[0];
    stored.erase(stored.begin());
  }
  stored.erase(stored.begin(),
               std::find_if(stored.begin(), stored.end(), [](int64_t n) { return n != 1; }));
  return stored;
}

void append_list(std::string& text, std::string_view title, const std::vector<std::string>& names) {
  if (names.empty()) return;
  if (!text.empty()) text += "; ";
  text += fmt::format("{} {}: {}", names.size(), title, fmt::join(names, ", "));
}

}  // namespace

namespace init {

void zeros(at::Tensor& parameter, at::Generator&) { parameter.zero_(); }
void ones(at::Tensor& parameter, at::Generator&) { parameter.fill_(1); }

Initialiser constant(double value) {
  return [value](at::Tensor& parameter, at::Generator&) { parameter.fill_(value); };
}

Initialiser normal(double deviation) {
  return [deviation](at::Tensor& parameter, at::Generator& generator) {
    parameter.normal_(0, deviation, generator);
  };
}

Initialiser fan_in(int64_t fan_in) {
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  return [bound](at::Tensor& parameter, at::Generator& generator) {
    parameter.uniform_(-bound, bound, generator);
  };
}

}  // namespace init

std::string LoadReport::text() const {
  std::string text;
  append_list(text, "missing", missing);
  append_list(text, "unexpected", unexpected);
  append_list(text, "with the wrong shape or type", misshapen);
  return text;
}

Parameters::Parameters(Options options, Source source)
    : options_(options), source_(std::move(source)) {}

void Parameters::start(const std::string& name, at::Tensor& tensor,
                       const Initialiser& initialise) const {
  // Every parameter has its own random sequence, so its initial value does not depend on others.
  at::Generator generator =
      at::make_generator<at::CPUGeneratorImpl>(hash_keys({options_.seed, name_hash(name)}));
  initialise(tensor, generator);
}

at::Tensor Parameters::add(const std::string& name, at::IntArrayRef shape,
                           const Initialiser& initialise) {
  LOCI_CHECK(!index_.contains(name), "parameter {} was added twice", name);
  const auto wanted = at::TensorOptions(options_.dtype).device(options_.device);
  at::Tensor tensor;
  if (source_) {
    tensor = source_(name);
    if (tensor.defined() && options_.gguf_shapes &&
        gguf_shape(tensor.sizes()) == gguf_shape(shape)) {
      tensor = tensor.view(shape);
    }
    if (!tensor.defined()) {
      report_.missing.push_back(name);
    } else if (tensor.sizes() != shape) {
      report_.misshapen.push_back(fmt::format("{}: [{}] in the file, [{}] expected", name,
                                              fmt::join(tensor.sizes(), ", "),
                                              fmt::join(shape, ", ")));
      tensor = at::Tensor();
    } else if (!at::isFloatingType(tensor.scalar_type())) {
      report_.misshapen.push_back(fmt::format("{}: {} in the file, floating point expected", name,
                                              at::toString(tensor.scalar_type())));
      tensor = at::Tensor();
    } else {
      tensor = tensor.to(wanted).contiguous();
    }
  }
  if (!tensor.defined()) {
    tensor = at::empty(shape, wanted);
    if (!tensor.is_meta()) {
      at::Tensor numbers = at::empty(shape, at::kFloat);
      start(name, numbers, initialise);
      tensor.copy_(numbers);
    }
  }
  index_.emplace(name, all_.size());
  all_.push_back({name, tensor});
  return tensor;
}

at::Tensor Parameters::add_exact(const std::string& name, at::IntArrayRef shape,
                                 at::ScalarType type, const Initialiser& initialise) {
  LOCI_CHECK(!index_.contains(name), "parameter {} was added twice", name);
  at::Tensor tensor = source_ ? source_(name) : at::Tensor();
  if (source_ && !tensor.defined()) report_.missing.push_back(name);
  if (tensor.defined() && (tensor.sizes() != shape || tensor.scalar_type() != type)) {
    report_.misshapen.push_back(fmt::format(
        "{}: {} [{}] in the file, {} [{}] expected", name, at::toString(tensor.scalar_type()),
        fmt::join(tensor.sizes(), ", "), at::toString(type), fmt::join(shape, ", ")));
    tensor = at::Tensor();
  }
  if (tensor.defined()) {
    tensor = tensor.to(options_.device).contiguous();
  } else {
    const bool sketch = options_.device.is_meta();
    tensor = at::empty(shape, at::TensorOptions(type).device(sketch ? at::kMeta : at::kCPU));
    if (!sketch) start(name, tensor, initialise);
    tensor = tensor.to(options_.device);
  }
  index_.emplace(name, all_.size());
  all_.push_back({name, tensor});
  return tensor;
}

void Parameters::replace(const std::string& name, at::Tensor tensor) {
  const auto found = index_.find(name);
  LOCI_CHECK(found != index_.end(), "there is no parameter {} to replace", name);
  all_[found->second].tensor = std::move(tensor);
}

LoadReport Parameters::report(const std::vector<std::string>& available) const {
  LoadReport report = report_;
  for (const std::string& name : available) {
    if (!index_.contains(name)) report.unexpected.push_back(name);
  }
  return report;
}

uint64_t Parameters::count() const {
  uint64_t count = 0;
  for (const Parameter& parameter : all_) count += static_cast<uint64_t>(parameter.tensor.numel());
  return count;
}

uint64_t Parameters::bytes() const {
  uint64_t bytes = 0;
  for (const Parameter& parameter : all_) bytes += parameter.tensor.nbytes();
  return bytes;
}

void Parameters::set_requires_grad(bool value) const {
  for (const Parameter& parameter : all_) parameter.tensor.set_requires_grad(value);
}

}  // namespace loci::model
