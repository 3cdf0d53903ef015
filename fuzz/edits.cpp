// SPDX-License-Identifier: Apache-2.0
#include "fuzz/edits.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string>

#include <ATen/ATen.h>

#include "loci/base/config.h"
#include "loci/base/text.h"
#include "loci/io/tensors/safetensors.h"

namespace loci::fuzz {

namespace {

constexpr int64_t kMostElements = 4096;

// Paths of all JSON values except objects and lists that are not empty.
std::vector<Json::json_pointer> leaves(const Json& json) {
  std::vector<Json::json_pointer> found;
  const Json flat = json.flatten();
  for (const auto& [pointer, value] : flat.items()) found.emplace_back(pointer);
  return found;
}

std::string rest_of(std::istringstream& line) {
  std::string rest;
  std::getline(line >> std::ws, rest);
  return rest;
}

void edit_metadata(Json& json, const std::string& verb, size_t index, std::istringstream& line) {
  const auto all = leaves(json);
  if (all.empty()) return;
  const Json::json_pointer& at = all[index % all.size()];
  const std::string rest = rest_of(line);
  if (verb == "meta") {
    const Json parsed = Json::parse(rest, nullptr, false);
    json[at] = parsed.is_discarded() ? Json(rest) : parsed;
    return;
  }
  Json& parent = json[at.parent_pointer()];
  if (!parent.is_object()) return;
  parent[rest] = json[at];
  parent.erase(at.back());
}

at::Tensor edit_tensor(const at::Tensor& tensor, const std::string& verb,
                       std::istringstream& line) {
  if (verb == "shape") {
    std::vector<int64_t> shape;
    int64_t count = 1;
    for (int64_t size = 0; line >> size && shape.size() < 8;) {
      if (size < 0 || size > kMostElements || count * size > kMostElements) return tensor;
      count *= size;
      shape.push_back(size);
    }
    const at::Tensor flat =
        tensor.numel() == 0 ? at::zeros({1}, tensor.options()) : tensor.reshape({-1});
    return flat.repeat({count / flat.numel() + 1}).narrow(0, 0, count).reshape(shape);
  }
  if (verb == "type") {
    constexpr std::array kTypes = {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16,
                                   at::kLong,  at::kInt,    at::kByte, at::kBool};
    size_t type = 0;
    line >> type;
    return tensor.to(kTypes[type % kTypes.size()]);
  }
  int64_t place = 0;
  if (verb == "number") line >> place;
  std::string text;
  line >> text;
  const auto number = parse_double(text);
  if (!number || tensor.numel() == 0) return tensor;
  at::Tensor changed = tensor.clone();
  at::Tensor part = changed.view({-1});
  if (verb == "number") part = part.narrow(0, std::abs(place % tensor.numel()), 1);
  // Only values that the type can represent.
  constexpr double kMost = 1e15;
  if (!changed.is_floating_point() && !(std::abs(*number) <= kMost)) return tensor;
  part.copy_(at::full({1}, *number, at::kDouble));
  return changed;
}

}  // namespace

void edit_safetensors(const std::filesystem::path& from, const std::filesystem::path& to,
                      std::string_view edits) {
  const io::SafetensorsFile file = io::SafetensorsFile::open(from);
  io::NamedTensors tensors;
  for (const io::TensorInfo& info : file.tensors()) {
    tensors.emplace_back(info.name, file.tensor(info.name));
  }
  const std::string key = file.metadata().begin()->first;
  Json metadata = Json::parse(file.metadata().begin()->second);
  std::istringstream lines{std::string(edits)};
  for (std::string text; std::getline(lines, text);) {
    std::istringstream line(text);
    std::string verb;
    size_t index = 0;
    if (!(line >> verb >> index)) continue;
    if (verb == "meta" || verb == "key") {
      edit_metadata(metadata, verb, index, line);
    } else if (!tensors.empty()) {
      auto& [name, tensor] = tensors[index % tensors.size()];
      if (verb == "drop") {
        tensors.erase(tensors.begin() + static_cast<ptrdiff_t>(index % tensors.size()));
      } else if (verb == "name") {
        name = rest_of(line);
      } else if (verb == "shape" || verb == "type" || verb == "fill" || verb == "number") {
        tensor = edit_tensor(tensor, verb, line);
      }
    }
  }
  io::write_safetensors(to, tensors,
                        {{key, metadata.dump(-1, ' ', false, Json::error_handler_t::replace)}});
}

}  // namespace loci::fuzz
