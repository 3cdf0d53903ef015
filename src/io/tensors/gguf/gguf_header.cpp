// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/gguf/gguf_header.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "loci/base/error.h"

namespace loci::io {

namespace {

static_assert(std::endian::native == std::endian::little, "GGUF files are read in native order");

constexpr uint64_t kMostHeaderBytes = 100'000'000;
constexpr uint64_t kMostNameBytes = 65'535;
constexpr uint32_t kMostDimensions = 8;
constexpr uint32_t kMostAlignment = 1 << 20;
constexpr uint64_t kDefaultAlignment = 32;
constexpr std::string_view kShapeKey = "comfy.gguf.orig_shape.";

// Types of metadata values.
enum class Value : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kList = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12
};

// Size of a number or truth value in bytes; 0 for all other types.
uint64_t number_bytes(Value type) {
  switch (type) {
    case Value::kUint8:
    case Value::kInt8:
    case Value::kBool:
      return 1;
    case Value::kUint16:
    case Value::kInt16:
      return 2;
    case Value::kUint32:
    case Value::kInt32:
    case Value::kFloat32:
      return 4;
    case Value::kUint64:
    case Value::kInt64:
    case Value::kFloat64:
      return 8;
    default:
      return 0;
  }
}

// Reads the header from its beginning. Its length is not stored, so the file is read in pieces.
class HeaderReader {
 public:
  explicit HeaderReader(const InputFile& file)
      : file_(file), end_(std::min(file.size(), kMostHeaderBytes)) {}

  uint64_t position() const { return position_; }
  // Bytes that may follow.
  uint64_t remaining() const { return end_ - position_; }

  std::string_view take(uint64_t size) {
    require(size);
    if (position_ + size > buffer_.size()) {
      const uint64_t from = buffer_.size();
      buffer_.resize(std::min(end_, std::max(position_ + size, from + kPiece)));
      file_.read(from, std::span(buffer_).subspan(from));
    }
    const std::string_view taken(buffer_.data() + position_, size);
    position_ += size;
    return taken;
  }

  void skip(uint64_t size) {
    require(size);
    while (size > 0) {
      const uint64_t part = std::min(size, kPiece);
      take(part);
      size -= part;
    }
  }

  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  std::string text(const char* what, uint64_t most) {
    const auto size = number<uint64_t>();
    if (size > remaining()) ends(size);
    if (size > most) {
      fail("{}: a {} of {} bytes exceeds the limit of {}; the file is damaged", file_.name(), what,
           size, most);
    }
    return std::string(take(size));
  }

  // Bad input unless `count` items of at least `least` bytes can follow.
  void require_items(uint64_t count, uint64_t least) const {
    if (count > remaining() / least) ends(count > UINT64_MAX / least ? UINT64_MAX : count * least);
  }

 private:
  static constexpr uint64_t kPiece = uint64_t{64} << 10;

  void require(uint64_t size) const {
    if (size > remaining()) ends(size);
  }

  [[noreturn]] void ends(uint64_t size) const {
    if (end_ < file_.size()) {
      fail("{}: the header exceeds the limit of {} bytes; the file is damaged", file_.name(), end_);
    }
    fail(
        "{}: the file ends within its header: at least {} bytes should follow byte {}, but there "
        "are {}; copy or download it again",
        file_.name(), size, position_, remaining());
  }

  const InputFile& file_;
  uint64_t end_ = 0, position_ = 0;
  std::vector<char> buffer_;
};

class HeaderParser {
 public:
  explicit HeaderParser(const InputFile& file) : file_(file), reader_(file) {}

  GgufHeader parse() {
    check_start();
    const auto tensors = reader_.number<uint64_t>();
    const auto values = reader_.number<uint64_t>();
    // The smallest metadata entry is an empty key and a number of one byte. The smallest tensor
    // has an empty name and no dimensions.
    reader_.require_items(values, 8 + 4 + 1);
    for (uint64_t i = 0; i < values; ++i) read_value();
    reader_.require_items(tensors, 8 + 4 + 4 + 8);
    for (uint64_t i = 0; i < tensors; ++i) read_tensor();
    apply_shapes();
    place_data();
    return std::move(header_);
  }

 private:
  void check_start() {
    const SharedBytes head = file_.head(8);
    if (!head.view.starts_with("GGUF")) {
      fail("{}: the file begins with '{}' where 'GGUF' is expected; this is not a GGUF file",
           file_.name(), printable(head.view.substr(0, 4)));
    }
    reader_.skip(4);
    const auto version = reader_.number<uint32_t>();
    if (version == 2 || version == 3) return;
    if (version == 2U << 24 || version == 3U << 24) {
      fail("{}: the file is big-endian; only little-endian GGUF files are supported", file_.name());
    }
    fail("{}: GGUF version {} is not supported; expected version 2 or 3; convert the model again",
         file_.name(), version);
  }

  Value read_type(const std::string& key) {
    const auto type = static_cast<Value>(reader_.number<uint32_t>());
    if (number_bytes(type) == 0 && type != Value::kString && type != Value::kList) {
      fail("{}: the metadata '{}' has the unknown type {}; the file is damaged", file_.name(),
           printable(key), static_cast<uint32_t>(type));
    }
    return type;
  }

  // The number as text.
  std::string number_text(Value type) {
    switch (type) {
      case Value::kUint8:
        return std::to_string(reader_.number<uint8_t>());
      case Value::kInt8:
        return std::to_string(reader_.number<int8_t>());
      case Value::kUint16:
        return std::to_string(reader_.number<uint16_t>());
      case Value::kInt16:
        return std::to_string(reader_.number<int16_t>());
      case Value::kUint32:
        return std::to_string(reader_.number<uint32_t>());
      case Value::kInt32:
        return std::to_string(reader_.number<int32_t>());
      case Value::kUint64:
        return std::to_string(reader_.number<uint64_t>());
      case Value::kInt64:
        return std::to_string(reader_.number<int64_t>());
      case Value::kFloat32:
        return fmt::format("{}", reader_.number<float>());
      case Value::kFloat64:
        return fmt::format("{}", reader_.number<double>());
      default:
        return reader_.number<uint8_t>() == 0 ? "false" : "true";
    }
  }

  void read_value() {
    const std::string key = reader_.text("metadata key", kMostNameBytes);
    const Value type = read_type(key);
    if (!keys_.insert(key).second) {
      fail("{}: the metadata '{}' occurs twice", file_.name(), printable(key));
    }
    if (key == "general.alignment") {
      if (type != Value::kUint32) {
        fail("{}: the metadata '{}' must be an unsigned integer of 32 bits", file_.name(), key);
      }
      alignment_ = reader_.number<uint32_t>();
      if (!std::has_single_bit(alignment_) || alignment_ > kMostAlignment) {
        fail("{}: the alignment of the data is {}; expected a power of two up to {}", file_.name(),
             alignment_, kMostAlignment);
      }
      header_.metadata.emplace(key, std::to_string(alignment_));
      return;
    }
    if (type == Value::kList) {
      read_list(key);
      return;
    }
    header_.metadata.emplace(key, type == Value::kString
                                      ? reader_.text("metadata text", kMostHeaderBytes)
                                      : number_text(type));
  }

  void read_list(const std::string& key) {
    const Value type = read_type(key);
    const auto count = reader_.number<uint64_t>();
    if (type == Value::kList) {
      fail("{}: the metadata '{}' is a list of lists, which is not supported", file_.name(),
           printable(key));
    }
    if (key.starts_with(kShapeKey)) {
      read_shape(key, type, count);
    } else if (type == Value::kString) {
      reader_.require_items(count, 8);
      for (uint64_t i = 0; i < count; ++i) reader_.skip(reader_.number<uint64_t>());
    } else {
      reader_.require_items(count, number_bytes(type));
      reader_.skip(count * number_bytes(type));
    }
  }

  void read_shape(const std::string& key, Value type, uint64_t count) {
    if ((type != Value::kInt32 && type != Value::kUint32 && type != Value::kInt64) ||
        count > kMostDimensions) {
      fail("{}: the metadata '{}' must be a list of at most {} integers", file_.name(),
           printable(key), kMostDimensions);
    }
    std::vector<int64_t> shape;
    for (uint64_t i = 0; i < count; ++i) {
      shape.push_back(type == Value::kInt32    ? reader_.number<int32_t>()
                      : type == Value::kUint32 ? reader_.number<uint32_t>()
                                               : reader_.number<int64_t>());
    }
    shapes_.emplace(key.substr(kShapeKey.size()), std::move(shape));
  }

  void read_tensor() {
    GgufHeader::Entry entry;
    TensorInfo& info = entry.info;
    info.name = reader_.text("tensor name", kMostNameBytes);
    if (!names_.insert(info.name).second) {
      fail("{}: the name '{}' occurs twice in the header", file_.name(), printable(info.name));
    }
    const auto dimensions = reader_.number<uint32_t>();
    if (dimensions > kMostDimensions) {
      fail("{}: tensor '{}' has {} dimensions; at most {} are supported", file_.name(),
           printable(info.name), dimensions, kMostDimensions);
    }
    for (uint32_t i = 0; i < dimensions; ++i) info.shape.push_back(reader_.number<int64_t>());
    const int64_t row = info.shape.empty() ? 1 : info.shape.front();
    std::reverse(info.shape.begin(), info.shape.end());
    const auto id = reader_.number<uint32_t>();
    entry.type = gguf_type(id);
    if (entry.type == nullptr) {
      fail("{}: tensor '{}' has the type {}, which is not supported; supported types: {}",
           file_.name(), printable(info.name), gguf_type_name(id), gguf_type_names());
    }
    info.dtype = entry.type->dtype;
    const auto bytes = tensor_bytes(info.dtype, info.shape);
    if (!bytes) {
      fail("{}: tensor '{}' has an impossible shape", file_.name(), printable(info.name));
    }
    info.bytes = *bytes;
    if (entry.type->expand != nullptr) {
      if (row % entry.type->elements != 0) {
        fail(
            "{}: tensor '{}' has rows of {} elements, which do not divide into the {} blocks of {}",
            file_.name(), printable(info.name), row, entry.type->name, entry.type->elements);
      }
      info.packed_type = entry.type->name;
      info.packed_bytes = *bytes / sizeof(c10::BFloat16) / entry.type->elements * entry.type->bytes;
    }
    entry.begin = reader_.number<uint64_t>();  // from the start of the data; place_data() adds it
    header_.entries.push_back(std::move(entry));
  }

  void apply_shapes() {
    if (shapes_.empty()) return;
    for (GgufHeader::Entry& entry : header_.entries) {
      const auto found = shapes_.find(entry.info.name);
      if (found == shapes_.end()) continue;
      const auto bytes = tensor_bytes(entry.info.dtype, found->second);
      if (bytes != entry.info.bytes) {
        fail("{}: tensor '{}' is stored as [{}], which is not the size of its original shape [{}]",
             file_.name(), printable(entry.info.name), fmt::join(entry.info.shape, ", "),
             fmt::join(found->second, ", "));
      }
      entry.info.shape = found->second;
    }
  }

  void place_data() {
    const uint64_t start = (reader_.position() + alignment_ - 1) / alignment_ * alignment_;
    std::vector<const GgufHeader::Entry*> sorted;
    for (GgufHeader::Entry& entry : header_.entries) {
      const std::string name = printable(entry.info.name);
      if (entry.begin % alignment_ != 0) {
        fail(
            "{}: the data of tensor '{}' begins at {}, which is not a multiple of the alignment {}",
            file_.name(), name, entry.begin, alignment_);
      }
      const uint64_t size = entry.info.file_bytes();
      uint64_t end = 0;
      if (__builtin_add_overflow(entry.begin, start, &entry.begin) ||
          __builtin_add_overflow(entry.begin, size, &end) || end > file_.size()) {
        fail(
            "{}: the file ends within tensor '{}': it has {} bytes where {} bytes are expected "
            "from byte {} on; copy or download it again",
            file_.name(), name, file_.size(), size, entry.begin);
      }
      if (size > 0) sorted.push_back(&entry);
    }
    std::sort(sorted.begin(), sorted.end(),
              [](const auto* a, const auto* b) { return a->begin < b->begin; });
    for (size_t i = 1; i < sorted.size(); ++i) {
      const TensorInfo& before = sorted[i - 1]->info;
      if (sorted[i - 1]->begin + before.file_bytes() > sorted[i]->begin) {
        fail("{}: the data of the tensors '{}' and '{}' overlap; the file is damaged", file_.name(),
             printable(before.name), printable(sorted[i]->info.name));
      }
    }
  }

  const InputFile& file_;
  HeaderReader reader_;
  GgufHeader header_;
  uint64_t alignment_ = kDefaultAlignment;
  std::unordered_set<std::string> keys_, names_;
  std::map<std::string, std::vector<int64_t>, std::less<>> shapes_;
};

}  // namespace

GgufHeader read_gguf_header(const InputFile& file) { return HeaderParser(file).parse(); }

}  // namespace loci::io
