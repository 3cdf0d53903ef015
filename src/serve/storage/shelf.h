// SPDX-License-Identifier: Apache-2.0
// A folder of folders that are named by ids: the worlds, or the videos, of a data folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace loci::serve {

// Safe in any thread. Several servers may use the same one.
class Shelf {
 public:
  // Ids begin with `kind`; a folder counts as soon as `file` is in it.
  Shelf(std::filesystem::path root, std::string kind, std::string file);

  // Where something with a new id goes.
  std::filesystem::path place(const std::string& id) const { return root_ / id; }
  // Refused ("not_found") unless it is an id of ours and there.
  std::filesystem::path find(const std::string& id) const;
  // Every folder that is named by an id.
  std::vector<std::filesystem::path> all() const;

 private:
  std::filesystem::path root_;
  std::string kind_, file_;
};

}  // namespace loci::serve
