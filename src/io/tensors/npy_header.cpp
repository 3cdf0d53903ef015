// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/npy_header.h"

#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "loci/base/error.h"
#include "loci/io/tensors/tensor_info.h"

namespace loci::io {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
// Headers are padded to align the data to a multiple of this.
constexpr size_t kAlignment = 64;
// The header of a numeric array has about a hundred bytes.
constexpr uint64_t kMaxHeaderBytes = kNpyHead - 12;

constexpr std::array<std::pair<std::string_view, at::ScalarType>, 14> kTypes = {{
    {"b1", at::kBool},
    {"i1", at::kChar},
    {"i2", at::kShort},
    {"i4", at::kInt},
    {"i8", at::kLong},
    {"u1", at::kByte},
    {"u2", at::kUInt16},
    {"u4", at::kUInt32},
    {"u8", at::kUInt64},
    {"f2", at::kHalf},
    {"f4", at::kFloat},
    {"f8", at::kDouble},
    {"c8", at::kComplexFloat},
    {"c16", at::kComplexDouble},
}};

// Parses the Python literals that NumPy writes.
class LiteralReader {
 public:
  LiteralReader(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  NpyHeader read() {
    NpyHeader header;
    bool has_type = false;
    bool has_order = false;
    bool has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !has_type) {
        has_type = true;
        read_type(header);
      } else if (key == "fortran_order" && !has_order) {
        has_order = true;
        header.fortran_order = truth();
      } else if (key == "shape" && !has_shape) {
        has_shape = true;
        header.shape = tuple();
      } else {
        damaged();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (!text_.empty() || !has_type || !has_order || !has_shape) damaged();
    return header;
  }

 private:
  [[noreturn]] void damaged() const {
    fail("{}: the header of the array is damaged; expected descr, fortran_order and shape",
         source_);
  }

  void skip_spaces() {
    const size_t start = text_.find_first_not_of(" \t\n\r");
    text_.remove_prefix(start == std::string_view::npos ? text_.size() : start);
  }
  bool accept(char c) {
    skip_spaces();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) damaged();
  }
  bool accept_word(std::string_view word) {
    skip_spaces();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  std::string_view quoted() {
    skip_spaces();
    const char quote = text_.empty() ? '\0' : text_.front();
    if (quote != '\'' && quote != '"') damaged();
    const size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) damaged();
    const std::string_view word = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return word;
  }

  bool truth() {
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    damaged();
  }

  std::vector<int64_t> tuple() {
    std::vector<int64_t> numbers;
    expect('(');
    while (!accept(')')) {
      skip_spaces();
      int64_t number = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
      if (error != std::errc() || number < 0) damaged();
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      accept('L');  // suffix of Python 2
      numbers.push_back(number);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return numbers;
  }

  void read_type(NpyHeader& header) {
    skip_spaces();
    if (text_.starts_with('[')) {
      fail("{}: this is an array of records; only arrays of numbers can be read", source_);
    }
    const std::string_view descr = quoted();
    if (descr.find('O') != std::string_view::npos) {
      fail("{}: this array holds Python objects, which are refused; save plain numbers instead",
           source_);
    }
    const char order = descr.empty() ? '\0' : descr.front();
    if (order == '<' || order == '>' || order == '|' || order == '=') {
      for (const auto& [name, dtype] : kTypes) {
        if (name != descr.substr(1)) continue;
        header.dtype = dtype;
        header.swapped = order == '>';
        return;
      }
    }
    fail(
        "{}: this array has the type '{}'; booleans, integers, floats of 16 to 64 bits and complex "
        "numbers can be read",
        source_, printable(descr));
  }

  std::string_view text_;
  const std::string& source_;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view head, uint64_t size, const std::string& source) {
  if (head.empty()) fail("{}: the file is empty", source);
  if (!head.starts_with(kMagic)) fail("{}: this is not a .npy array of numpy", source);
  const auto cut_off = [&] { fail("{}: the file ends within its header; it is cut off", source); };
  if (head.size() < 10) cut_off();
  const auto version = static_cast<unsigned char>(head[6]);
  if (version < 1 || version > 3) {
    fail("{}: version {} of the .npy format is unknown; versions 1 to 3 can be read", source,
         version);
  }
  const size_t count = version == 1 ? 2 : 4;  // size of the length field
  if (head.size() < 8 + count) cut_off();
  uint32_t length = 0;
  std::memcpy(&length, head.data() + 8, count);
  if (length > kMaxHeaderBytes) {
    fail("{}: a header of {} bytes is beyond the limit of {}", source, length, kMaxHeaderBytes);
  }
  if (head.size() - 8 - count < length) cut_off();
  NpyHeader header = LiteralReader(head.substr(8 + count, length), source).read();
  header.offset = 8 + count + length;
  const auto bytes = tensor_bytes(header.dtype, header.shape);
  if (!bytes) fail("{}: the array has an impossible shape", source);
  if (size - header.offset != *bytes) {
    fail("{}: the array takes {} bytes, but {} follow the header; the file is {}", source, *bytes,
         size - header.offset, size - header.offset < *bytes ? "cut off" : "damaged");
  }
  return header;
}

std::string make_npy_header(const at::Tensor& tensor, const std::string& source) {
  std::string_view type;
  for (const auto& [name, dtype] : kTypes) {
    if (dtype == tensor.scalar_type()) type = name;
  }
  if (type.empty()) {
    fail("cannot write {}: numpy has no type for {}; convert it to float32 first", source,
         c10::toString(tensor.scalar_type()));
  }
  std::string shape;
  for (const int64_t extent : tensor.sizes()) shape += fmt::format("{}, ", extent);
  // (3,) and (3, 4) as Python prints tuples
  if (tensor.dim() > 1) shape.resize(shape.size() - 2);
  if (tensor.dim() == 1) shape.resize(shape.size() - 1);
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                 tensor.element_size() == 1 ? '|' : '<', type, shape);
  const size_t total = (10 + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  text.resize(total - 11, ' ');
  text += '\n';
  LOCI_CHECK(text.size() < 0x10000, "a shape of {} dimensions does not fit", tensor.dim());
  std::string header(kMagic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace loci::io
