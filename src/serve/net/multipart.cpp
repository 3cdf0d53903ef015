// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/net/multipart.h"

#include "loci/base/text.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/protocol/message.h"

namespace loci::serve {

namespace {

constexpr size_t kMostParts = 64;

// Fields are stored and sent back as JSON, which must be UTF-8.
Json text_field(const std::string& name, std::string_view content) {
  Json field(std::string{content});
  try {
    Json(name).dump();
    field.dump();
  } catch (const Json::type_error&) {
    refuse("bad_request", "a field of the form is not valid UTF-8");
  }
  return field;
}

[[noreturn]] void broken() { refuse("bad_request", "the multipart form is malformed"); }

// The value of `name` in "form-data; name=\"a\"; filename=\"b\"".
std::string parameter(std::string_view text, std::string_view name) {
  for (const std::string_view piece : split(text, ';')) {
    const std::string_view pair = trim(piece);
    if (!pair.starts_with(name) || !pair.substr(name.size()).starts_with('=')) continue;
    std::string_view value = pair.substr(name.size() + 1);
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
      value = value.substr(1, value.size() - 2);
    }
    return std::string(value);
  }
  return "";
}

bool same_word(std::string_view a, std::string_view lower) {
  if (a.size() != lower.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const char c = a[i] >= 'A' && a[i] <= 'Z' ? static_cast<char>(a[i] - 'A' + 'a') : a[i];
    if (c != lower[i]) return false;
  }
  return true;
}

}  // namespace

Json parse_multipart(std::string_view content_type, std::string_view body) {
  const std::string boundary = parameter(content_type, "boundary");
  if (boundary.empty() || boundary.size() > 70) broken();
  const std::string line = "--" + boundary;
  Json form = Json::object();
  if (!body.starts_with(line)) broken();
  body.remove_prefix(line.size());
  while (!body.starts_with("--")) {
    if (form.size() >= kMostParts || !body.starts_with("\r\n")) broken();
    body.remove_prefix(2);
    const size_t head_end = body.find("\r\n\r\n");
    const size_t end = body.find(
        "\r\n" + line, head_end == std::string_view::npos ? std::string_view::npos : head_end);
    if (head_end == std::string_view::npos || end == std::string_view::npos || end < head_end + 4)
      broken();
    std::string_view head = body.substr(0, head_end);
    const std::string_view content = body.substr(head_end + 4, end - head_end - 4);
    std::string name;
    bool file = false;
    while (!head.empty()) {
      const size_t stop = std::min(head.find("\r\n"), head.size());
      const std::string_view entry = head.substr(0, stop);
      head.remove_prefix(std::min(stop + 2, head.size()));
      const size_t colon = entry.find(':');
      if (colon == std::string_view::npos) broken();
      if (same_word(trim(entry.substr(0, colon)), "content-disposition")) {
        name = parameter(entry.substr(colon + 1), "name");
        file = entry.find("filename") != std::string_view::npos;
      }
    }
    if (name.empty()) broken();
    form[name] = file ? binary(content) : text_field(name, content);
    body.remove_prefix(end + 2 + line.size());
  }
  return form;
}

}  // namespace loci::serve
