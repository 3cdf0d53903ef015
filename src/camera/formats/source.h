// SPDX-License-Identifier: Apache-2.0
// A file or folder that may contain a camera path, as bytes, as JSON or as lines. Every form is
// read once, at its first use.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loci/base/config.h"
#include "loci/camera/checks.h"

namespace loci::camera {

// A line of data: neither blank nor a '#' comment.
struct Line {
  int64_t number;  // from 1, as in editors
  std::string_view text;
  std::vector<std::string_view> fields;  // separated by blanks
};

class Source {
 public:
  // A missing or empty file is bad input.
  explicit Source(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  const std::string& name() const { return name_; }  // for messages
  bool is_folder() const { return is_folder_; }
  // The file `name` in this folder; none if this is not a folder or has no such file.
  std::optional<std::filesystem::path> inside(std::string_view name) const;

  // The first bytes of the file; "" for a folder.
  const std::string& head() const { return head_; }
  // Whether the file begins like a JSON object or list.
  bool is_json() const;
  // Whether the first bytes contain no control characters and are not JSON.
  bool is_text() const;

  const Json& json() const;
  const std::string& text() const;
  const std::vector<Line>& lines() const;
  // The first of lines(); null if the file is not text.
  const Line* first_line() const;

  Where at(std::string_view unit, int64_t index) const { return {name_, unit, index}; }

 private:
  std::filesystem::path path_;
  std::string name_;
  bool is_folder_ = false;
  std::string head_;
  mutable std::optional<std::string> text_;
  mutable std::optional<Json> json_;
  mutable std::optional<std::vector<Line>> lines_;
};

// The lines of data in `text`. Their fields point into `text`.
std::vector<Line> data_lines(std::string_view text);

// Fields first … first + count - 1 as numbers, which may be infinite or NaN. Fewer fields and other
// words are bad input; `expected` describes the line in the message.
std::vector<double> numbers(const Line& line, size_t first, size_t count, std::string_view file,
                            std::string_view expected);
bool all_numbers(const Line& line, size_t count);

// JSON access. Errors name the place in the file.
double json_number(const Json& value, const Where& where, std::string_view key);
const Json& json_member(const Json& object, const Where& where, std::string_view key);
// A list of rows of numbers, flattened row by row. All rows must have the same length.
std::vector<double> json_matrix(const Json& value, const Where& where, std::string_view key);

// Orders names by the numbers in them: frame2 before frame10.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace loci::camera
