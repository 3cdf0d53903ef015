// SPDX-License-Identifier: Apache-2.0
// Weights and pictures that follow from a formula, so that they need not be stored.
#pragma once

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include "loci/io/tensors/safetensors.h"
#include "loci/model/perceptual/lpips.h"

namespace loci::model {

// The same formula as in tests/data/eval/make_networks.py and tests/data/model/make_lpips.py.
inline at::Tensor formula_noise(at::IntArrayRef shape, uint64_t seed, double scale) {
  at::Tensor values = at::empty(shape, at::kFloat);
  float* data = values.data_ptr<float>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    uint64_t x = (static_cast<uint64_t>(i) * 2654435761 + seed * 40503 + 12345) & 0xffffffff;
    x ^= x >> 16;
    x = x * 73244475 & 0xffffffff;
    x ^= x >> 16;
    data[i] = static_cast<float>((static_cast<double>(x) / 4294967296. - 0.5) * scale);
  }
  return values;
}

inline at::Tensor formula_weight(const std::string& name, at::IntArrayRef shape) {
  uint64_t seed = 0;
  for (const char c : name) seed += static_cast<unsigned char>(c);
  int64_t numel = 1;
  for (const int64_t side : shape) numel *= side;
  const double fan = shape.size() > 1 ? static_cast<double>(numel / shape[0]) : 0;
  const at::Tensor value = formula_noise(shape, seed, fan > 0 ? 3 / std::sqrt(fan) : 0.5);
  return shape.size() == 1 && name.ends_with("weight") ? value + 1 : value;
}

// A weight of LPIPS.
inline at::Tensor formula_lpips_weight(LpipsNet net, const std::string& name) {
  // Shapes of the classifiers, listed here so that the check of shapes is tested.
  static const std::map<std::string, std::vector<int64_t>> kAlex = {
      {"features.0", {64, 3, 11, 11}},
      {"features.3", {192, 64, 5, 5}},
      {"features.6", {384, 192, 3, 3}},
      {"features.8", {256, 384, 3, 3}},
      {"features.10", {256, 256, 3, 3}}};
  static const std::map<std::string, std::vector<int64_t>> kVgg = {
      {"features.0", {64, 3, 3, 3}},     {"features.2", {64, 64, 3, 3}},
      {"features.5", {128, 64, 3, 3}},   {"features.7", {128, 128, 3, 3}},
      {"features.10", {256, 128, 3, 3}}, {"features.12", {256, 256, 3, 3}},
      {"features.14", {256, 256, 3, 3}}, {"features.17", {512, 256, 3, 3}},
      {"features.19", {512, 512, 3, 3}}, {"features.21", {512, 512, 3, 3}},
      {"features.24", {512, 512, 3, 3}}, {"features.26", {512, 512, 3, 3}},
      {"features.28", {512, 512, 3, 3}}};
  static const std::vector<int64_t> kAlexHeads = {64, 192, 384, 256, 256};
  static const std::vector<int64_t> kVggHeads = {64, 128, 256, 512, 512};
  const bool alex = net == LpipsNet::kAlex;
  if (name.starts_with("lin")) {
    const auto index = static_cast<size_t>(name[3] - '0');
    return formula_noise({1, (alex ? kAlexHeads : kVggHeads).at(index), 1, 1}, 77 + index, 0.2)
        .abs();
  }
  const std::vector<int64_t>& shape = (alex ? kAlex : kVgg).at(name.substr(0, name.rfind('.')));
  if (name.ends_with(".bias")) return formula_weight(name, {shape[0]});
  return formula_weight(name, shape);
}

inline Lpips formula_lpips(LpipsNet net) {
  return Lpips(
      net, [net](const std::string& name) { return formula_lpips_weight(net, name); }, "formula");
}

// Writes the weights as scripts/fetch_lpips.py does.
inline void write_formula_lpips(LpipsNet net, const std::filesystem::path& file) {
  io::NamedTensors tensors;
  const auto add = [&](const std::string& name) {
    tensors.emplace_back(name, formula_lpips_weight(net, name));
  };
  const std::vector<int> layers =
      net == LpipsNet::kAlex ? std::vector<int>{0, 3, 6, 8, 10}
                             : std::vector<int>{0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28};
  for (const int layer : layers) {
    add("features." + std::to_string(layer) + ".weight");
    add("features." + std::to_string(layer) + ".bias");
  }
  for (int head = 0; head < 5; ++head) add("lin" + std::to_string(head) + ".model.1.weight");
  io::write_safetensors(file, tensors);
}

}  // namespace loci::model
