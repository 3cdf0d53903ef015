// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/storage/shelf.h"

#include "loci/base/output_path.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/protocol/ids.h"

namespace loci::serve {

namespace fs = std::filesystem;

bool file_exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Shelf::Shelf(fs::path root, std::string kind, std::string file)
    : root_(std::move(root)), kind_(std::move(kind)), file_(std::move(file)) {
  make_folders(root_);
}

fs::path Shelf::find(const std::string& id) const {
  fs::path folder = root_ / (is_id(id, kind_) ? id : "");
  if (!is_id(id, kind_) || !file_exists(folder / file_)) {
    refuse("not_found", "there is no such {}", kind_);
  }
  return folder;
}

std::vector<fs::path> Shelf::all() const {
  std::vector<fs::path> found;
  std::error_code error;  // other processes may delete folders meanwhile
  for (auto it = fs::directory_iterator(root_, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    if (is_id(it->path().filename().string(), kind_)) found.push_back(it->path());
  }
  return found;
}

}  // namespace loci::serve
