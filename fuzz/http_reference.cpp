// SPDX-License-Identifier: Apache-2.0
#include "fuzz/http_reference.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace loci::fuzz {

namespace {

constexpr size_t kHeadLimit = 8 << 10;  // larger heads may be refused

struct Field {
  std::string name, value;  // the name in lower case
};

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool token_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), token_character);
}

bool digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool blank(char c) { return c == ' ' || c == '\t'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string> list_of(std::string_view text) {
  std::vector<std::string> items;
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    items.push_back(lower_case(trimmed(text.substr(0, comma))));
    if (comma == text.size()) return items;
    text.remove_prefix(comma + 1);
  }
}

// Printable characters and tabs.
bool field_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto code = static_cast<unsigned char>(c);
    return c == '\t' || (code >= ' ' && code != 0x7f);
  });
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  // The next line without its CR LF; nothing if the stream ends before.
  std::optional<std::string_view> line() {
    const size_t end = rest_.find("\r\n");
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 2);
    return text;
  }
  std::optional<std::string_view> take(uint64_t count) {
    if (count > rest_.size()) return std::nullopt;
    const std::string_view text = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return text;
  }

 private:
  std::string_view rest_;
};

// Reads "name: value" lines up to the empty line.
std::optional<Framing> read_fields(Reader& reader, std::vector<Field>& fields) {
  while (true) {
    const auto line = reader.line();
    if (!line) return Framing::kIncomplete;
    if (line->empty()) return std::nullopt;
    if (!field_text(*line) || blank(line->front())) return Framing::kUnclear;
    const size_t colon = line->find(':');
    if (colon == std::string_view::npos) return Framing::kUnclear;
    const std::string_view name = line->substr(0, colon);
    // 5.1: a server must refuse space between the name and the colon.
    if (!name.empty() && blank(name.back()) && token(trimmed(name))) return Framing::kMalformed;
    if (!token(name)) return Framing::kUnclear;
    fields.push_back({lower_case(name), std::string(trimmed(line->substr(colon + 1)))});
  }
}

Framing read_chunks(Reader& reader) {
  while (true) {
    const auto line = reader.line();
    if (!line) return Framing::kIncomplete;
    const std::string_view size = line->substr(0, line->find(';'));
    const bool hex = !size.empty() && std::all_of(size.begin(), size.end(), [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    });
    if (!hex) return trimmed(size).size() < size.size() ? Framing::kUnclear : Framing::kMalformed;
    if (!field_text(*line)) return Framing::kUnclear;
    const size_t zeros = std::min(size.find_first_not_of('0'), size.size());
    if (size.size() - zeros > 8) return Framing::kMalformed;  // more than any stream here has
    uint64_t count = 0;
    for (const char c : size.substr(zeros)) {
      count = count * 16 + static_cast<uint64_t>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    if (count == 0) {
      std::vector<Field> trailers;
      return read_fields(reader, trailers).value_or(Framing::kValid);
    }
    if (!reader.take(count)) return Framing::kIncomplete;
    const auto end = reader.take(2);
    if (!end) return Framing::kIncomplete;
    if (*end != "\r\n") return Framing::kMalformed;
  }
}

Framing read_request(Reader& reader) {
  const auto start = reader.line();
  if (!start) return Framing::kIncomplete;
  const size_t first = start->find(' ');
  const size_t last = start->rfind(' ');
  if (!field_text(*start) || first == std::string_view::npos || first == last) {
    return Framing::kUnclear;
  }
  const std::string_view version = start->substr(last + 1);
  const std::string_view target = start->substr(first + 1, last - first - 1);
  if (!token(start->substr(0, first)) || target.empty() ||
      target.find_first_of(" \t") != std::string_view::npos ||
      (version != "HTTP/1.1" && version != "HTTP/1.0")) {
    return Framing::kUnclear;
  }
  std::vector<Field> fields;
  if (const auto problem = read_fields(reader, fields)) return *problem;
  std::map<std::string, std::vector<std::string>> by_name;
  size_t size = start->size();
  for (const Field& field : fields) {
    by_name[field.name].push_back(field.value);
    size += field.name.size() + field.value.size() + 4;
  }
  // http_statuses() cannot tell where the response to HEAD ends.
  if (size > kHeadLimit || by_name.contains("upgrade") || by_name.contains("expect") ||
      start->starts_with("HEAD ")) {
    return Framing::kUnclear;
  }
  const bool current = version == "HTTP/1.1";
  // RFC 9112, 3.2: more than one Host, or none in HTTP/1.1, must be refused.
  if (by_name["host"].size() > 1 || (current && by_name["host"].empty())) {
    return Framing::kMalformed;
  }
  std::vector<std::string> connection;
  for (const std::string& value : by_name["connection"]) {
    for (std::string& item : list_of(value)) connection.push_back(std::move(item));
  }
  const auto connects = [&](std::string_view word) {
    return std::find(connection.begin(), connection.end(), word) != connection.end();
  };
  const Framing done = connects("close") || (!current && !connects("keep-alive"))
                           ? Framing::kLast
                           : Framing::kValid;
  if (by_name.contains("transfer-encoding")) {
    std::vector<std::string> codings;
    for (const std::string& value : by_name["transfer-encoding"]) {
      for (std::string& item : list_of(value)) codings.push_back(std::move(item));
    }
    // 6.3: the last coding of a request must be chunked, which is applied once. This server knows no
    // other coding.
    if (codings.size() != 1 || codings.front() != "chunked") return Framing::kMalformed;
    if (!current || by_name.contains("content-length")) return Framing::kUnclear;
    const Framing body = read_chunks(reader);
    return body == Framing::kValid ? done : body;
  }
  if (by_name.contains("content-length")) {
    const std::vector<std::string>& lengths = by_name["content-length"];
    for (const std::string& length : lengths) {
      if (!digits(length)) {
        const std::vector<std::string> items = list_of(length);
        const bool repeated = items.size() > 1 && digits(items.front()) &&
                              std::count(items.begin(), items.end(), items.front()) ==
                                  static_cast<ptrdiff_t>(items.size());
        return repeated ? Framing::kUnclear : Framing::kMalformed;
      }
      if (length != lengths.front()) return Framing::kMalformed;
    }
    if (lengths.size() > 1) return Framing::kUnclear;
    std::string_view length = lengths.front();
    length.remove_prefix(std::min(length.find_first_not_of('0'), length.size()));
    if (length.size() > 9) return Framing::kMalformed;
    const uint64_t count = length.empty() ? 0 : std::stoull(std::string(length));
    if (!reader.take(count)) return Framing::kIncomplete;
  }
  return done;
}

}  // namespace

std::vector<Framing> http_framing(std::string_view stream) {
  std::vector<Framing> found;
  Reader reader(stream);
  while (!reader.empty()) {
    found.push_back(read_request(reader));
    if (found.back() != Framing::kValid) break;
  }
  return found;
}

std::vector<int> http_statuses(std::string_view sent) {
  std::vector<int> found;
  Reader reader(sent);
  while (!reader.empty()) {
    const auto line = reader.line();
    std::vector<Field> fields;
    if (!line || line->size() < 12 || !line->starts_with("HTTP/1.1 ") ||
        !digits(line->substr(9, 3)) || read_fields(reader, fields)) {
      found.push_back(0);
      return found;
    }
    const int status = std::stoi(std::string(line->substr(9, 3)));
    if (status < 200) continue;
    found.push_back(status);
    for (const Field& field : fields) {
      if (field.name != "content-length" || status == 204 || status == 304) continue;
      if (!digits(field.value) || !reader.take(std::stoull(field.value))) {
        found.back() = 0;
        return found;
      }
    }
  }
  return found;
}

}  // namespace loci::fuzz
