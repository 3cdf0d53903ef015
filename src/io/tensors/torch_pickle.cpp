// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/torch_pickle.h"

#include <algorithm>
#include <array>
#include <utility>

#include "loci/base/error.h"
#include "loci/io/tensors/tensor_info.h"

namespace loci::io {

namespace {

using Kind = PickleNode::Kind;

struct TorchType {
  std::string_view name;     // torch.<name>
  std::string_view storage;  // torch.<storage>; "" if none
  at::ScalarType dtype;
};

constexpr std::array<TorchType, 20> kTypes = {{
    {"float64", "DoubleStorage", at::kDouble},
    {"float32", "FloatStorage", at::kFloat},
    {"float16", "HalfStorage", at::kHalf},
    {"bfloat16", "BFloat16Storage", at::kBFloat16},
    {"int64", "LongStorage", at::kLong},
    {"int32", "IntStorage", at::kInt},
    {"int16", "ShortStorage", at::kShort},
    {"int8", "CharStorage", at::kChar},
    {"uint8", "ByteStorage", at::kByte},
    {"bool", "BoolStorage", at::kBool},
    {"complex64", "ComplexFloatStorage", at::kComplexFloat},
    {"complex128", "ComplexDoubleStorage", at::kComplexDouble},
    {"uint16", "", at::kUInt16},
    {"uint32", "", at::kUInt32},
    {"uint64", "", at::kUInt64},
    {"float8_e4m3fn", "", at::kFloat8_e4m3fn},
    {"float8_e5m2", "", at::kFloat8_e5m2},
    {"float8_e4m3fnuz", "", at::kFloat8_e4m3fnuz},
    {"float8_e5m2fnuz", "", at::kFloat8_e5m2fnuz},
    {"float8_e8m0fnu", "", at::kFloat8_e8m0fnu},
}};

constexpr uint64_t kMaxSpread = uint64_t{1} << 30;

constexpr std::string_view kUntypedStorage = "torch.storage.UntypedStorage";

constexpr std::array<std::string_view, 9> kFunctions = {
    "collections.OrderedDict",
    "torch._utils._rebuild_tensor",
    "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_tensor_v3",
    "torch._utils._rebuild_parameter",
    "torch._utils._rebuild_parameter_with_state",
    "torch.Size",
    "torch.device",
    "_codecs.encode",  // represents bytes in protocol 2
};

constexpr std::string_view kScriptClass = "__torch__.";
// Typed lists and values with a type tag.
constexpr std::array<std::string_view, 5> kScriptFunctions = {
    "torch.jit._pickle.build_intlist",    "torch.jit._pickle.build_doublelist",
    "torch.jit._pickle.build_boollist",   "torch.jit._pickle.build_tensorlist",
    "torch.jit._pickle.restore_type_tag",
};

bool is_script_function(std::string_view global) {
  return std::find(kScriptFunctions.begin(), kScriptFunctions.end(), global) !=
         kScriptFunctions.end();
}

std::string_view without_torch(std::string_view global) {
  constexpr std::string_view kPrefix = "torch.";
  return global.starts_with(kPrefix) ? global.substr(kPrefix.size()) : "";
}

const TorchType* type_named(std::string_view global) {
  const std::string_view name = without_torch(global);
  for (const TorchType& type : kTypes) {
    if (!name.empty() && type.name == name) return &type;
  }
  return nullptr;
}

const TorchType* type_of_storage(std::string_view global) {
  const std::string_view name = without_torch(global);
  for (const TorchType& type : kTypes) {
    if (!name.empty() && type.storage == name) return &type;
  }
  return nullptr;
}

}  // namespace

bool TorchPickleHost::allows(std::string_view global) const {
  return std::find(kFunctions.begin(), kFunctions.end(), global) != kFunctions.end() ||
         (script_ && (global.starts_with(kScriptClass) || is_script_function(global))) ||
         global == kUntypedStorage || type_named(global) != nullptr ||
         type_of_storage(global) != nullptr;
}

void TorchPickleHost::malformed(std::string_view what) const {
  fail("{}: the pickle is damaged: {}", source_, what);
}

const PickleNode& TorchPickleHost::argument(const PickleNode& arguments, size_t index) const {
  if (index >= arguments.items.size()) malformed("a call has too few arguments");
  return *arguments.items[index];
}

int64_t TorchPickleHost::integer(const PickleNode& arguments, size_t index) const {
  const PickleNode& node = argument(arguments, index);
  if (node.kind != Kind::kInt) malformed("expected a number, got " + describe(node));
  return node.integer;
}

std::vector<int64_t> TorchPickleHost::integers(const PickleNode& arguments, size_t index) const {
  const PickleNode& node = argument(arguments, index);
  if (node.kind != Kind::kTuple && node.kind != Kind::kList) {
    malformed("expected numbers, got " + describe(node));
  }
  std::vector<int64_t> values;
  for (size_t i = 0; i < node.items.size(); ++i) values.push_back(integer(node, i));
  return values;
}

PickleNode* TorchPickleHost::load(PickleArena& arena, const PickleNode& id) {
  // ("storage", type, key, location, number of elements)
  if (id.kind != Kind::kTuple || argument(id, 0).text != "storage") {
    malformed("a persistent id does not refer to a storage");
  }
  const PickleNode& type = argument(id, 1);
  const PickleNode& key = argument(id, 2);
  const int64_t count = integer(id, 4);
  const TorchType* known = type_of_storage(type.text);
  if (type.kind != Kind::kGlobal || (known == nullptr && type.text != kUntypedStorage) ||
      key.kind != Kind::kText || count < 0) {
    malformed("a reference to a storage is malformed");
  }
  Storage storage{key.text, std::nullopt, 0};
  if (known != nullptr) storage.dtype = known->dtype;
  const auto bytes = tensor_bytes(storage.dtype.value_or(at::kByte), {&count, 1});
  const auto recorded = storage_bytes_(key.text);
  if (!recorded) {
    fail("{}: the data of storage '{}' is missing from the file", source_, printable(key.text));
  }
  if (!bytes || *bytes != *recorded) {
    fail("{}: storage '{}' has {} elements, which do not fit its {} bytes of data", source_,
         printable(key.text), count, *recorded);
  }
  storage.bytes = *bytes;
  storages_.push_back(std::move(storage));
  return arena.make({.kind = Kind::kObject,
                     .integer = static_cast<int64_t>(storages_.size()) - 1,
                     .text = "storage"});
}

PickleNode* TorchPickleHost::call(PickleArena& arena, std::string_view global,
                                  const PickleNode& arguments) {
  if (global == "collections.OrderedDict") {
    // Filled by later operations, or created from a list of pairs by old versions of Python.
    PickleNode dict{.kind = Kind::kDict};
    if (!arguments.items.empty()) {
      for (const PickleNode* pair : argument(arguments, 0).items) {
        if (pair->items.size() != 2) malformed("an OrderedDict is not created from pairs");
        dict.items.insert(dict.items.end(), pair->items.begin(), pair->items.end());
      }
    }
    return arena.make(std::move(dict));
  }
  if (global.starts_with("torch._utils._rebuild_tensor")) {
    return rebuild_tensor(arena, global, arguments);
  }
  if (global.starts_with("torch._utils._rebuild_parameter")) {
    const PickleNode& data = argument(arguments, 0);
    if (tensor(data) == nullptr) malformed("a parameter is created from " + describe(data));
    return arena.make(data);
  }
  if (global == "torch.Size") {
    const PickleNode& sizes = argument(arguments, 0);
    return arena.make({.kind = Kind::kTuple, .items = sizes.items});
  }
  if (global == "torch.device") return arena.make({.kind = Kind::kObject, .text = "device"});
  if (global == "_codecs.encode") {
    return arena.make({.kind = Kind::kBytes, .text = argument(arguments, 0).text});
  }
  if (script_ && global.starts_with(kScriptClass)) {
    return arena.make({.kind = Kind::kDict, .text = std::string(kPickleModule)});
  }
  if (script_ && is_script_function(global)) return arena.make(argument(arguments, 0));
  fail("{}: the file requests to call '{}', which is not allowed; only tensors can be read",
       source_, printable(global));
}

// _rebuild_tensor(storage, offset, size, stride), _v2(…, requires_grad, hooks[, metadata]),
// _v3(…, requires_grad, hooks, dtype[, metadata])
PickleNode* TorchPickleHost::rebuild_tensor(PickleArena& arena, std::string_view global,
                                            const PickleNode& arguments) {
  const PickleNode& node = argument(arguments, 0);
  if (node.kind != Kind::kObject || node.text != "storage") {
    malformed("a tensor is created from " + describe(node));
  }
  const Storage& storage = storages_[static_cast<size_t>(node.integer)];
  TorchTensor tensor;
  tensor.storage = storage.key;
  const bool has_dtype = global.ends_with("_v3");
  if (has_dtype) {
    const TorchType* type = type_named(argument(arguments, 6).text);
    if (type == nullptr) malformed("the type of a tensor is " + describe(argument(arguments, 6)));
    tensor.dtype = type->dtype;
  } else if (storage.dtype) {
    tensor.dtype = *storage.dtype;
  } else {
    malformed("a tensor has no type");
  }
  const size_t metadata = has_dtype ? 7 : 6;
  if (metadata < arguments.items.size() && !arguments.items[metadata]->items.empty()) {
    fail(
        "{}: a tensor is saved as a lazy conjugate or negative; save tensor.resolve_conj() and "
        "resolve_neg() instead",
        source_);
  }

  tensor.shape = integers(arguments, 2);
  tensor.strides = integers(arguments, 3);
  const int64_t offset = integer(arguments, 1);
  const auto bytes = tensor_bytes(tensor.dtype, tensor.shape);
  bool fits = bytes && offset >= 0 && tensor.strides.size() == tensor.shape.size();
  // Index of the last element, the largest index, since strides are not negative.
  int64_t last = 0;
  for (size_t i = 0; fits && i < tensor.shape.size(); ++i) {
    const int64_t steps = std::max<int64_t>(tensor.shape[i] - 1, 0);
    int64_t reach = 0;
    fits = tensor.strides[i] >= 0 && !__builtin_mul_overflow(steps, tensor.strides[i], &reach) &&
           !__builtin_add_overflow(last, reach, &last);
  }
  const auto element = static_cast<int64_t>(c10::elementSize(tensor.dtype));
  int64_t begin = 0;
  int64_t span = 0;
  int64_t end = 0;
  fits = fits && !__builtin_mul_overflow(offset, element, &begin) &&
         !__builtin_add_overflow(last, 1, &last) && !__builtin_mul_overflow(last, element, &span) &&
         !__builtin_add_overflow(begin, span, &end) &&
         (*bytes == 0 || static_cast<uint64_t>(end) <= storage.bytes) &&
         // Strides of 0 may expand a small storage, but not beyond the address space.
         *bytes <= std::max(storage.bytes, kMaxSpread);
  if (!fits) {
    fail("{}: a tensor of shape [{}] does not fit its storage '{}' of {} bytes", source_,
         printable(fmt::format("{}", fmt::join(tensor.shape, ", "))), printable(storage.key),
         storage.bytes);
  }
  tensor.bytes = *bytes;
  if (*bytes > 0) {
    tensor.begin = static_cast<uint64_t>(begin);
    tensor.span = static_cast<uint64_t>(span);
  }
  tensors_.push_back(std::move(tensor));
  return arena.make({.kind = Kind::kObject,
                     .integer = static_cast<int64_t>(tensors_.size()) - 1,
                     .text = "tensor"});
}

const TorchTensor* TorchPickleHost::tensor(const PickleNode& node) const {
  if (node.kind != Kind::kObject || node.text != "tensor") return nullptr;
  return &tensors_[static_cast<size_t>(node.integer)];
}

}  // namespace loci::io
