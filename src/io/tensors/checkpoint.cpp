// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/checkpoint.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>

#include "loci/base/error.h"
#include "loci/io/tensors/gguf/gguf.h"
#include "loci/io/tensors/input_file.h"
#include "loci/io/tensors/pth.h"
#include "loci/io/tensors/safetensors.h"
#include "loci/io/tensors/shard_index.h"

namespace loci::io {

namespace fs = std::filesystem;

namespace {

using File = std::variant<SafetensorsFile, GgufFile, PthFile>;

constexpr std::array<std::string_view, 2> kStems = {"diffusion_pytorch_model", "model"};
constexpr std::string_view kSuffix = ".safetensors";
constexpr std::string_view kIndexSuffix = ".safetensors.index.json";

// <stem>.safetensors has priority over its index, as in other programs.
std::optional<fs::path> with_stem(const fs::path& folder, std::string_view stem) {
  for (const std::string_view suffix : {kSuffix, kIndexSuffix}) {
    const fs::path path = folder / fmt::format("{}{}", stem, suffix);
    std::error_code ignored;
    if (fs::exists(path, ignored)) return path;
  }
  return std::nullopt;
}

// The only file in `folder` with one of the suffixes. Several files are an error.
std::optional<fs::path> only_one(const fs::path& folder,
                                 std::initializer_list<std::string_view> suffixes) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const bool hidden = name.starts_with('.');  // e.g. a file that is being written
    const bool match = std::any_of(suffixes.begin(), suffixes.end(),
                                   [&](std::string_view suffix) { return name.ends_with(suffix); });
    if (match && !hidden) found.push_back(name);
  }
  if (found.size() > 1) {
    std::sort(found.begin(), found.end());
    fail("{}: the folder has {} checkpoints, e.g. {} and {}; specify one file", folder.string(),
         found.size(), printable(found[0]), printable(found[1]));
  }
  if (found.empty()) return std::nullopt;
  return folder / found[0];
}

fs::path find_in_folder(const fs::path& folder, const std::string& stem) {
  if (!stem.empty()) {
    if (auto path = with_stem(folder, stem)) return *path;
    fail("{}: the folder has neither {}{} nor {}{}", folder.string(), stem, kSuffix, stem,
         kIndexSuffix);
  }
  for (const std::string_view known : kStems) {
    if (auto path = with_stem(folder, known)) return *path;
  }
  if (auto path = only_one(folder, {kIndexSuffix})) return *path;
  if (auto path = only_one(folder, {kSuffix})) return *path;
  if (auto path = only_one(folder, {".gguf"})) return *path;
  if (auto path = only_one(folder, {".pth", ".pt"})) return *path;
  fail("{}: the folder has no checkpoint; expected *{}, *{}, *.gguf, *.pth or *.pt",
       folder.string(), kSuffix, kIndexSuffix);
}

// All files of the index. Each must contain exactly the tensors that the index lists.
std::vector<SafetensorsFile> open_shards(const fs::path& path) {
  const ShardIndex index = read_shard_index(path);
  std::vector<SafetensorsFile> shards;
  size_t found = 0;
  for (const std::string& name : index.files) {
    const fs::path file = path.parent_path() / name;
    std::error_code ignored;
    if (!fs::exists(file, ignored)) {
      fail("{}: the file {} is missing, one of {} files in the index; copy or download it",
           path.string(), printable(name), index.files.size());
    }
    shards.push_back(SafetensorsFile::open(file));
    for (const TensorInfo& info : shards.back().tensors()) {
      const auto listed = index.file_of.find(info.name);
      if (listed == index.file_of.end() || listed->second != name) {
        fail("{}: {} contains the tensor '{}', which the index {}", path.string(), printable(name),
             printable(info.name),
             listed == index.file_of.end() ? "does not list"
                                           : "expects in " + printable(listed->second));
      }
      ++found;
    }
  }
  if (found != index.file_of.size()) {
    for (const auto& [tensor, name] : index.file_of) {
      const auto shard = std::lower_bound(index.files.begin(), index.files.end(), name);
      if (!shards[static_cast<size_t>(shard - index.files.begin())].has(tensor)) {
        fail("{}: {} lacks the tensor '{}', which the index expects there", path.string(),
             printable(name), printable(tensor));
      }
    }
  }
  return shards;
}

}  // namespace

struct Checkpoint::Data {
  fs::path path;
  std::vector<File> files;
  std::vector<InputFile> sources;  // of `files`
  std::vector<TensorInfo> tensors;
  std::vector<size_t> file_of;  // index into `files`, per tensor
  Metadata metadata;
  std::unordered_map<std::string_view, size_t> index;  // views of the names in `tensors`
};

Checkpoint Checkpoint::open(const fs::path& path, const std::string& stem) {
  auto data = std::make_shared<Data>();
  std::error_code ignored;
  data->path = fs::is_directory(path, ignored) ? find_in_folder(path, stem) : path;
  const std::string suffix = data->path.extension().string();
  if (suffix == ".json") {
    for (SafetensorsFile& shard : open_shards(data->path))
      data->files.emplace_back(std::move(shard));
  } else {
    const SharedBytes head = InputFile::open(data->path).head(4);
    // torch.save writes a zip archive, formerly a pickle. Interpreted as the length of a
    // safetensors header, the first bytes of a zip archive would mean at least 67 MB, and those of
    // a pickle or of a GGUF file exceed the limit.
    const bool is_pth = head.view.starts_with("PK\x03\x04") ||
                        head.view.starts_with("\x80\x02\x8a\x0a") || suffix == ".pth" ||
                        suffix == ".pt";
    if (head.view == "GGUF" || suffix == ".gguf") {
      data->files.emplace_back(GgufFile::open(data->path));
    } else if (is_pth) {
      data->files.emplace_back(PthFile::open(data->path));
    } else {
      data->files.emplace_back(SafetensorsFile::open(data->path));
    }
  }
  for (size_t i = 0; i < data->files.size(); ++i) {
    const auto& tensors = std::visit(
        [](const auto& file) -> const auto& { return file.tensors(); }, data->files[i]);
    data->tensors.insert(data->tensors.end(), tensors.begin(), tensors.end());
    data->file_of.resize(data->tensors.size(), i);
    data->sources.push_back(
        std::visit([](const auto& file) { return file.file(); }, data->files[i]));
  }
  for (size_t i = 0; i < data->tensors.size(); ++i) data->index[data->tensors[i].name] = i;
  if (!data->files.empty()) {
    if (const auto* first = std::get_if<SafetensorsFile>(&data->files.front())) {
      data->metadata = first->metadata();
    } else if (const auto* gguf = std::get_if<GgufFile>(&data->files.front())) {
      data->metadata = gguf->metadata();
    }
  }
  return Checkpoint(std::move(data));
}

const std::vector<TensorInfo>& Checkpoint::tensors() const { return data_->tensors; }

std::vector<std::string> Checkpoint::names() const {
  std::vector<std::string> names;
  for (const TensorInfo& info : data_->tensors) names.push_back(info.name);
  return names;
}

const Metadata& Checkpoint::metadata() const { return data_->metadata; }

bool Checkpoint::is_gguf() const {
  return !data_->files.empty() && std::holds_alternative<GgufFile>(data_->files.front());
}

const fs::path& Checkpoint::path() const { return data_->path; }

const std::vector<InputFile>& Checkpoint::files() const { return data_->sources; }

bool Checkpoint::has(std::string_view name) const { return data_->index.contains(name); }

size_t Checkpoint::index_of(std::string_view name) const {
  const auto found = data_->index.find(name);
  if (found == data_->index.end()) fail_missing_tensor(data_->path.string(), name, data_->tensors);
  return found->second;
}

const TensorInfo& Checkpoint::info(std::string_view name) const {
  return data_->tensors[index_of(name)];
}

at::Tensor Checkpoint::meta(std::string_view name) const {
  const TensorInfo& known = info(name);
  return at::empty(known.shape, at::TensorOptions(known.dtype).device(at::kMeta));
}

at::Tensor Checkpoint::tensor(std::string_view name) const {
  const File& file = data_->files[data_->file_of[index_of(name)]];
  return std::visit([&](const auto& opened) { return opened.tensor(name); }, file);
}

}  // namespace loci::io
