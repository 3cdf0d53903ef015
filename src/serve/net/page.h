// SPDX-License-Identifier: Apache-2.0
// The files of the explorer's page, which are part of the program.
//
// The library target `loci_page`, one generated source, defines page_files(). Without that target,
// page_default.cpp defines it with a plain index.
#pragma once

#include <span>
#include <string_view>

namespace loci::serve {

// All views refer to static storage.
struct PageFile {
  std::string_view path;          // of the request: "/index.html", "/assets/app.js"
  std::string_view content_type;  // "text/html; charset=utf-8"
  std::string_view bytes;
  std::string_view etag;       // with its quotes: "\"1f3c…\""
  std::string_view gzip = {};  // compressed bytes; empty if compression does not help
};

// The server answers "/" with "/index.html". Paths are unique.
std::span<const PageFile> page_files();

}  // namespace loci::serve
