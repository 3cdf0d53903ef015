// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/shelf.h"

#include "loci/base/log.h"
#include "loci/serve/ids.h"
#include "loci/serve/refusal.h"

namespace loci::serve {

namespace fs = std::filesystem;

namespace {
constexpr const char* kTrash = ".trash-";
}

Shelf::Shelf(fs::path root, std::string kind, std::string file)
    : root_(std::move(root)), kind_(std::move(kind)), file_(std::move(file)) {
  fs::create_directories(root_);
}

fs::path Shelf::find(const std::string& id) const {
  fs::path folder = root_ / (is_id(id, kind_) ? id : "");
  if (!is_id(id, kind_) || !fs::exists(folder / file_)) {
    refuse("not_found", "there is no such {}", kind_);
  }
  return folder;
}

std::vector<fs::path> Shelf::entries() const {
  std::vector<fs::path> found;
  std::error_code error;  // others delete folders meanwhile
  for (auto it = fs::directory_iterator(root_, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    found.push_back(it->path());
  }
  return found;
}

std::vector<fs::path> Shelf::all() const {
  std::vector<fs::path> found = entries();
  std::erase_if(found,
                [&](const fs::path& path) { return !is_id(path.filename().string(), kind_); });
  return found;
}

void Shelf::empty_trash() const {
  for (const fs::path& path : entries()) {
    if (!path.filename().string().starts_with(kTrash)) continue;
    std::error_code error;
    fs::remove_all(path, error);
    if (error) log_warning("{} cannot be deleted: {}", path.string(), error.message());
  }
}

void remove_folder(const fs::path& folder) {
  const fs::path trash = folder.parent_path() / (kTrash + folder.filename().string());
  fs::rename(folder, trash);
  fs::remove_all(trash);
}

}  // namespace loci::serve
