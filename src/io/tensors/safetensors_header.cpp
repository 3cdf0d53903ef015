// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "loci/base/error.h"

namespace loci::io {

namespace {

using Json = nlohmann::json;

// A SAX parser that rejects the first unexpected element. A DOM would keep only the last of two
// equal names, and a hostile file could make it use gigabytes.
class HeaderHandler : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderHandler(const std::string& source) : source_(source) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool start_object(size_t) override {
    switch (place_) {
      case Place::kStart:
        place_ = Place::kNames;
        return true;
      case Place::kNames:
        place_ = in_metadata_ ? Place::kMetadata : Place::kTensor;
        fields_ = {};
        return true;
      default:
        unexpected("an object");
    }
  }

  bool key(std::string& name) override {
    switch (place_) {
      case Place::kNames:
        if (!names_.insert(name).second) {
          fail("{}: the name '{}' occurs twice in the header", source_, printable(name));
        }
        in_metadata_ = name == "__metadata__";
        name_ = std::move(name);
        break;
      case Place::kMetadata:
        if (header_.metadata.contains(name)) {
          fail("{}: the metadata key '{}' occurs twice", source_, printable(name));
        }
        metadata_key_ = std::move(name);
        break;
      default:
        start_field(name);
    }
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::kMetadata) {
      header_.metadata.emplace(metadata_key_, std::move(value));
    } else if (place_ == Place::kTensor && field_ == Field::kDtype) {
      fields_.dtype = dtype_from_name(value);
      if (!fields_.dtype) {
        fail("{}: tensor '{}' has the element type '{}', which is not supported", source_,
             printable(name_), printable(value));
      }
    } else {
      unexpected("a string");
    }
    return true;
  }

  bool start_array(size_t) override {
    if (place_ != Place::kTensor || field_ == Field::kDtype) unexpected("a list");
    place_ = Place::kNumbers;
    return true;
  }

  bool number_unsigned(uint64_t value) override {
    if (place_ != Place::kNumbers) unexpected("a number");
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      unexpected("a number beyond 2^63");
    }
    if (field_ == Field::kShape) {
      // Limits the size of a hostile list. The number of dimensions is checked later.
      if (fields_.shape->size() >= 1024) unexpected("a shape with more than 1024 dimensions");
      fields_.shape->push_back(static_cast<int64_t>(value));
    } else {
      if (fields_.offsets->size() >= 2) unexpected("a third data offset");
      fields_.offsets->push_back(value);
    }
    return true;
  }

  bool end_array() override {
    place_ = Place::kTensor;
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kNames) {
      place_ = Place::kEnd;
      return true;
    }
    if (place_ == Place::kTensor) finish_tensor();
    place_ = Place::kNames;
    in_metadata_ = false;
    return true;
  }

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a truth value"); }
  bool number_integer(int64_t) override { unexpected("a negative number"); }
  bool number_float(double, const std::string&) override { unexpected("a fractional number"); }
  bool binary(Json::binary_t&) override { unexpected("binary data"); }
  bool parse_error(size_t position, const std::string&, const Json::exception&) override {
    fail(
        "{}: the header is not valid JSON (byte {}); the file is damaged or not a safetensors file",
        source_, position);
  }

 private:
  enum class Place { kStart, kNames, kMetadata, kTensor, kNumbers, kEnd };
  enum class Field { kDtype, kShape, kOffsets };
  struct Fields {
    bool has_dtype = false;
    std::optional<at::ScalarType> dtype;
    std::optional<std::vector<int64_t>> shape;
    std::optional<std::vector<uint64_t>> offsets;
  };

  [[noreturn]] void unexpected(std::string_view what) const {
    const std::string where = name_.empty() ? "" : fmt::format(" at '{}'", printable(name_));
    fail(
        "{}: the header has {}{}, which is not allowed there; the file is damaged or not a "
        "safetensors file",
        source_, what, where);
  }

  void start_field(const std::string& name) {
    bool repeated = false;
    if (name == "dtype") {
      field_ = Field::kDtype;
      repeated = std::exchange(fields_.has_dtype, true);
    } else if (name == "shape") {
      field_ = Field::kShape;
      repeated = fields_.shape.has_value();
      fields_.shape.emplace();
    } else if (name == "data_offsets") {
      field_ = Field::kOffsets;
      repeated = fields_.offsets.has_value();
      fields_.offsets.emplace();
    } else {
      fail("{}: tensor '{}' has the unknown field '{}'", source_, printable(name_),
           printable(name));
    }
    if (repeated) {
      fail("{}: tensor '{}' has the field '{}' twice", source_, printable(name_), name);
    }
  }

  void finish_tensor() {
    if (!fields_.dtype || !fields_.shape || !fields_.offsets || fields_.offsets->size() != 2) {
      fail("{}: tensor '{}' needs dtype, shape and two data_offsets", source_, printable(name_));
    }
    const auto bytes = tensor_bytes(*fields_.dtype, *fields_.shape);
    if (!bytes) fail("{}: tensor '{}' has an impossible shape", source_, printable(name_));
    const uint64_t begin = (*fields_.offsets)[0];
    const uint64_t end = (*fields_.offsets)[1];
    if (begin > end || end - begin != *bytes) {
      fail("{}: tensor '{}' has the data offsets {} and {}, but its type and shape take {} bytes",
           source_, printable(name_), begin, end, *bytes);
    }
    header_.entries.push_back({{name_, *fields_.dtype, std::move(*fields_.shape), *bytes}, begin});
  }

  const std::string& source_;
  SafetensorsHeader header_;
  std::unordered_set<std::string> names_;
  Place place_ = Place::kStart;
  Field field_ = Field::kDtype;
  bool in_metadata_ = false;
  std::string name_;
  std::string metadata_key_;
  Fields fields_;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes,
                                           const std::string& source) {
  HeaderHandler handler(source);
  Json::sax_parse(json, &handler);
  SafetensorsHeader header = handler.take();
  auto& entries = header.entries;
  // An empty tensor has the same offset as the next tensor.
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.begin + a.info.bytes) < std::pair(b.begin, b.begin + b.info.bytes);
  });
  uint64_t end = 0;
  for (const auto& entry : entries) {
    if (entry.begin != end) {
      fail("{}: the data of tensor '{}' begins at byte {} where {} is expected: {}", source,
           printable(entry.info.name), entry.begin, end,
           entry.begin < end ? "two tensors overlap" : "there is a gap before it");
    }
    end = entry.begin + entry.info.bytes;
    if (end > data_bytes) {
      fail(
          "{}: the file ends within tensor '{}': {} bytes of data where at least {} are expected; "
          "copy or download it again",
          source, printable(entry.info.name), data_bytes, end);
    }
  }
  if (end != data_bytes) {
    fail("{}: {} bytes of data follow the last tensor; the file is damaged", source,
         data_bytes - end);
  }
  return header;
}

}  // namespace loci::io
