// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/pth.h"

#include <array>
#include <map>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "loci/base/error.h"
#include "loci/base/text.h"
#include "loci/io/tensors/input_file.h"
#include "loci/io/tensors/torch_pickle.h"
#include "loci/io/tensors/zip.h"

namespace loci::io {

namespace {

using Kind = PickleNode::Kind;

constexpr uint64_t kMaxPickleBytes = uint64_t{64} << 20;
constexpr int kMaxDepth = 32;
// Values may be shared, so a small pickle can describe an arbitrarily large tree.
constexpr size_t kMaxVisits = 4'000'000;
constexpr size_t kMaxNameBytes = size_t{1} << 28;  // total for all values

constexpr std::array<std::string_view, 4> kWrappers = {"state_dict", "model_state_dict", "model",
                                                       "module"};

// Traverses the value of a pickle and collects its tensors under dotted names.
class TensorCollector {
 public:
  TensorCollector(std::string source, const TorchPickleHost& host)
      : source_(std::move(source)), host_(host) {}

  void collect(const PickleNode& root, bool unwrap) {
    const PickleNode* node = &root;
    for (int depth = 0; unwrap && depth < kMaxDepth; ++depth) {
      const PickleNode* inner = wrapped(*node);
      if (inner == nullptr) break;
      node = inner;
    }
    visit(*node, "", 0);
  }

  std::vector<TensorInfo> infos;
  std::vector<TorchTensor> tensors;

 private:
  void count_visit() {
    if (++visits_ > kMaxVisits) {
      fail("{}: the file has more than {} values, too many for a checkpoint", source_, kMaxVisits);
    }
  }

  bool holds_tensors(const PickleNode& node, int depth) {
    count_visit();
    if (host_.tensor(node) != nullptr) return true;
    if (depth >= kMaxDepth) return false;
    for (const PickleNode* item : node.items) {
      if (holds_tensors(*item, depth + 1)) return true;
    }
    return false;
  }

  // The dictionary with the weights if `node` is a wrapper, otherwise null.
  const PickleNode* wrapped(const PickleNode& node) {
    if (node.kind != Kind::kDict) return nullptr;
    for (size_t i = 1; i < node.items.size(); i += 2) {
      if (host_.tensor(*node.items[i]) != nullptr) return nullptr;
    }
    for (const std::string_view name : kWrappers) {
      for (size_t i = 0; i < node.items.size(); i += 2) {
        const PickleNode& key = *node.items[i];
        const PickleNode& value = *node.items[i + 1];
        if (key.kind == Kind::kText && key.text == name && value.kind == Kind::kDict &&
            holds_tensors(value, 0)) {
          return &value;
        }
      }
    }
    return nullptr;
  }

  std::string key_text(const PickleNode& key) const {
    switch (key.kind) {
      case Kind::kText:
        return key.text;
      case Kind::kInt:
        return std::to_string(key.integer);
      default:
        fail("{}: a dictionary has {} as a key; only strings and integers are supported", source_,
             describe(key));
    }
  }

  void visit(const PickleNode& node, const std::string& name, int depth) {
    count_visit();
    name_bytes_ += name.size();
    if (name_bytes_ > kMaxNameBytes) {
      fail("{}: the names of its values take more than {}, too much for a checkpoint", source_,
           format_bytes(kMaxNameBytes));
    }
    if (depth > kMaxDepth) {
      fail("{}: the dictionaries are nested more than {} deep", source_, kMaxDepth);
    }
    const std::string prefix = name.empty() ? "" : name + ".";
    if (const TorchTensor* tensor = host_.tensor(node)) {
      const std::string full = depth == 0 ? "tensor" : name;
      if (!names_.insert(full).second) {
        fail("{}: two tensors have the name '{}'", source_, printable(full));
      }
      infos.push_back({full, tensor->dtype, tensor->shape, tensor->bytes});
      tensors.push_back(*tensor);
    } else if (node.kind == Kind::kDict) {
      for (size_t i = 0; i < node.items.size(); i += 2) {
        visit(*node.items[i + 1], prefix + key_text(*node.items[i]), depth + 1);
      }
    } else if (node.kind == Kind::kList || node.kind == Kind::kTuple) {
      for (size_t i = 0; i < node.items.size(); ++i) {
        visit(*node.items[i], prefix + std::to_string(i), depth + 1);
      }
    }
  }

  std::string source_;
  const TorchPickleHost& host_;
  std::unordered_set<std::string> names_;
  size_t visits_ = 0;
  size_t name_bytes_ = 0;
};

void require_zip(const InputFile& file) {
  const SharedBytes head = file.head(4);
  const std::string& source = file.name();
  if (head.view.starts_with("PK\x03\x04")) return;
  if (head.view.empty()) fail("{}: the file is empty", source);
  if (head.view.starts_with("\x80")) {
    fail(
        "{}: this is a pickle in the format before PyTorch 1.6; save it again in Python: "
        "torch.save(torch.load('old.pth', weights_only=True, map_location='cpu'), 'new.pth')",
        source);
  }
  fail("{}: this is not a file of torch.save (a zip archive)", source);
}

// The folder of data.pkl inside the archive, with a trailing slash.
std::string find_root(const ZipArchive& archive, const std::string& source) {
  std::string root;
  for (const ZipEntry& entry : archive.entries()) {
    const size_t slash = entry.name.find('/');
    if (slash == std::string::npos || entry.name.substr(slash + 1) != "data.pkl") continue;
    if (!root.empty()) fail("{}: the archive has several entries data.pkl", source);
    root = entry.name.substr(0, slash + 1);
  }
  if (root.empty()) {
    fail("{}: the archive has no entry data.pkl; this is not a file of torch.save", source);
  }
  return root;
}

}  // namespace

struct PthFile::Data {
  explicit Data(const InputFile& input)
      : file(input), archive(ZipArchive::over(input)), source(input.name()) {}

  InputFile file;

  ZipArchive archive;
  std::string source;
  std::string root;
  std::vector<TensorInfo> infos;
  std::vector<TorchTensor> tensors;
  std::unordered_map<std::string_view, size_t> index;  // views of the names in `infos`

  // Inflated storages, which are kept so that views share them.
  std::mutex mutex;
  std::map<std::string, SharedBytes> inflated;

  // Part of a storage.
  SharedBytes read(const std::string& key, uint64_t begin, uint64_t size) {
    const ZipEntry* entry = archive.find(root + "data/" + key);
    if (!entry->deflated) return archive.read_stored(*entry, begin, size);
    const std::lock_guard lock(mutex);
    const auto found = inflated.find(key);
    if (found != inflated.end()) return found->second.part(begin, size);
    return (inflated[key] = archive.read(*entry)).part(begin, size);
  }
};

PthFile PthFile::open(const std::filesystem::path& path, bool unwrap) {
  const InputFile file = InputFile::open(path);
  require_zip(file);
  auto data = std::make_shared<Data>(file);
  data->root = find_root(data->archive, data->source);
  const auto record = [&](const std::string& name) -> const ZipEntry* {
    return data->archive.find(data->root + name);
  };
  if (const ZipEntry* order = record("byteorder")) {
    if (order->bytes > 16 || data->archive.read(*order).view != "little") {
      fail("{}: the tensors were saved on a big-endian machine, which is not supported",
           data->source);
    }
  }
  const ZipEntry* pickle = record("data.pkl");
  if (pickle->bytes > kMaxPickleBytes) {
    fail("{}: the pickle has {} bytes, more than a checkpoint needs", data->source, pickle->bytes);
  }
  TorchPickleHost host(
      data->source,
      [&](const std::string& key) -> std::optional<uint64_t> {
        const ZipEntry* entry = record("data/" + key);
        if (entry == nullptr) return std::nullopt;
        return entry->bytes;
      },
      /*script=*/record("constants.pkl") != nullptr);
  PickleArena arena(data->source);
  const SharedBytes program = data->archive.read_verified(*pickle);
  TensorCollector collector(data->source, host);
  collector.collect(*parse_pickle(program.view, arena, host), unwrap);
  data->infos = std::move(collector.infos);
  data->tensors = std::move(collector.tensors);
  for (size_t i = 0; i < data->infos.size(); ++i) data->index[data->infos[i].name] = i;
  return PthFile(std::move(data));
}

const std::vector<TensorInfo>& PthFile::tensors() const { return data_->infos; }

const InputFile& PthFile::file() const { return data_->file; }

bool PthFile::has(std::string_view name) const { return data_->index.contains(name); }

size_t PthFile::index_of(std::string_view name) const {
  const auto found = data_->index.find(name);
  if (found == data_->index.end()) fail_missing_tensor(data_->source, name, data_->infos);
  return found->second;
}

const TensorInfo& PthFile::info(std::string_view name) const {
  return data_->infos[index_of(name)];
}

at::Tensor PthFile::tensor(std::string_view name) const {
  const TorchTensor& tensor = data_->tensors[index_of(name)];
  const SharedBytes bytes = data_->read(tensor.storage, tensor.begin, tensor.span);
  return tensor_over(bytes, tensor.dtype, tensor.shape, tensor.strides, data_->source);
}

}  // namespace loci::io
