// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/formats/source.h"

#include <algorithm>
#include <fstream>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/text.h"

namespace loci::camera {

namespace fs = std::filesystem;

namespace {

constexpr size_t kHeadBytes = 4096;
// One hour at 24 frames per second is about 50 MB of JSON.
constexpr uint64_t kLargestText = uint64_t{512} << 20;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view leading_digits(std::string_view text) {
  size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  return text.substr(0, count);
}

std::string_view without_zeros(std::string_view digits) {
  const size_t first = digits.find_first_not_of('0');
  return first == std::string_view::npos ? std::string_view() : digits.substr(first);
}

}  // namespace

Source::Source(fs::path path) : path_(std::move(path)), name_(path_.string()) {
  std::error_code error;
  const fs::file_status status = fs::status(path_, error);
  if (!fs::exists(status)) fail("cannot read {}: no such file or folder", name_);
  is_folder_ = fs::is_directory(status);
  if (is_folder_) return;
  if (!fs::is_regular_file(status)) fail("cannot read {}: it is not a regular file", name_);
  std::ifstream file(path_, std::ios::binary);
  if (!file) fail("cannot read {}: no permission to open it", name_);
  head_.resize(kHeadBytes);
  file.read(head_.data(), kHeadBytes);
  head_.resize(static_cast<size_t>(file.gcount()));
  if (head_.empty()) fail("{}: the file is empty", name_);
}

std::optional<fs::path> Source::inside(std::string_view name) const {
  std::error_code ignored;
  fs::path file = path_ / name;
  if (!is_folder_ || !fs::is_regular_file(file, ignored)) return std::nullopt;
  return file;
}

bool Source::is_json() const {
  std::string_view start = head_;
  if (start.starts_with("\xEF\xBB\xBF")) start.remove_prefix(3);
  start = trim(start);
  return !start.empty() && (start.front() == '{' || start.front() == '[');
}

bool Source::is_text() const {
  return !is_folder_ && !is_json() && std::none_of(head_.begin(), head_.end(), [](char c) {
    return static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\r' && c != '\t' && c != '\f';
  });
}

const std::string& Source::text() const {
  if (!text_) text_ = read_file(path_, kLargestText);
  return *text_;
}

const Json& Source::json() const {
  if (!json_) {
    json_ = parse_json(text(), name_);
    text_.reset();
  }
  return *json_;
}

const std::vector<Line>& Source::lines() const {
  if (!lines_) lines_ = data_lines(text());
  return *lines_;
}

const Line* Source::first_line() const {
  return is_text() && !lines().empty() ? &lines().front() : nullptr;
}

std::vector<Line> data_lines(std::string_view text) {
  std::vector<Line> lines;
  int64_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (!line.empty() && line.front() != '#') {
      lines.push_back({number, line, split_whitespace(line)});
    }
  }
  return lines;
}

std::vector<double> numbers(const Line& line, size_t first, size_t count, std::string_view file,
                            std::string_view expected) {
  const Where where{file, "line", line.number};
  if (line.fields.size() < first + count) {
    fail("{}: {} columns; expected {}", where.str(), line.fields.size(), expected);
  }
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) {
    const std::optional<double> value = parse_double(line.fields[first + i]);
    if (!value) {
      fail("{}: '{}' is not a number; expected {}", where.str(),
           line.fields[first + i].substr(0, 40), expected);
    }
    values[i] = *value;
  }
  return values;
}

bool all_numbers(const Line& line, size_t count) {
  return line.fields.size() == count &&
         std::all_of(line.fields.begin(), line.fields.end(),
                     [](std::string_view field) { return parse_double(field).has_value(); });
}

double json_number(const Json& value, const Where& where, std::string_view key) {
  if (!value.is_number()) {
    fail("{}: {} is a {}; expected a number", where.str(), key, value.type_name());
  }
  return value.get<double>();
}

const Json& json_member(const Json& object, const Where& where, std::string_view key) {
  if (!object.is_object()) fail("{}: a {}; expected an object", where.str(), object.type_name());
  const auto found = object.find(key);
  if (found == object.end()) fail("{}: '{}' is missing", where.str(), key);
  return *found;
}

std::vector<double> json_matrix(const Json& value, const Where& where, std::string_view key) {
  std::vector<double> values;
  if (!value.is_array() || value.empty()) {
    fail("{}: {} must be a list of rows of numbers", where.str(), key);
  }
  for (const Json& row : value) {
    if (!row.is_array() || row.size() != value[0].size()) {
      fail("{}: {} must be a list of equally long rows of numbers", where.str(), key);
    }
    for (const Json& entry : row) values.push_back(json_number(entry, where, key));
  }
  return values;
}

bool natural_less(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const std::string_view digits_a = leading_digits(a), digits_b = leading_digits(b);
    if (!digits_a.empty() && !digits_b.empty()) {
      const std::string_view value_a = without_zeros(digits_a), value_b = without_zeros(digits_b);
      if (value_a.size() != value_b.size()) return value_a.size() < value_b.size();
      if (value_a != value_b) return value_a < value_b;
      a.remove_prefix(digits_a.size());
      b.remove_prefix(digits_b.size());
      continue;
    }
    if (a.front() != b.front()) return a.front() < b.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.empty() && !b.empty();
}

}  // namespace loci::camera
