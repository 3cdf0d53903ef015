// SPDX-License-Identifier: Apache-2.0
// A folder whose subfolders are named by ids: the worlds or the videos of a data folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace loci::serve {

// Whether `path` exists. False also if that cannot be determined, e.g. for a symbolic link that
// points to itself.
bool file_exists(const std::filesystem::path& path);

// Any thread may call every function. Several servers may share the folder.
class Shelf {
 public:
  // Ids begin with `kind`. A subfolder is an entry once it contains `file`.
  Shelf(std::filesystem::path root, std::string kind, std::string file);

  // The path of a new entry.
  std::filesystem::path place(const std::string& id) const { return root_ / id; }
  // The path of an existing entry. Malformed and unknown ids are refused ("not_found").
  std::filesystem::path find(const std::string& id) const;
  // All subfolders that are named by an id.
  std::vector<std::filesystem::path> all() const;

 private:
  std::filesystem::path root_;
  std::string kind_, file_;
};

}  // namespace loci::serve
