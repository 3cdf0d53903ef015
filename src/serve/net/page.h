// SPDX-License-Identifier: Apache-2.0
// The files of the page, carried by the program itself.
//
// They come from the library target `loci_page`: one generated source that defines page_files().
// Without that target the layer defines it with an index that says what the server offers.
#pragma once

#include <span>
#include <string_view>

namespace loci::serve {

// All of static storage.
struct PageFile {
  std::string_view path;          // as asked for: "/index.html", "/assets/app.js"
  std::string_view content_type;  // "text/html; charset=utf-8"
  std::string_view bytes;
  std::string_view etag;       // with its quotes: "\"1f3c…\""
  std::string_view gzip = {};  // the same bytes packed; empty where that saves nothing
};

// "/" is answered with "/index.html". Paths are unique.
std::span<const PageFile> page_files();

}  // namespace loci::serve
