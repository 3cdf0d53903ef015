// SPDX-License-Identifier: Apache-2.0
#include "loci/world/recording/manifest.h"

#include "loci/base/error.h"
#include "loci/base/file.h"

namespace loci::world {

void keep_manifest(const std::filesystem::path& folder, const Json& wanted) {
  const std::filesystem::path path = folder / "manifest.json";
  if (!std::filesystem::exists(path)) {
    write_file(path, wanted.dump(2) + "\n");
    return;
  }
  const Json found = load_json(path);
  for (const auto& [key, value] : wanted.items()) {
    if (!found.contains(key) || found[key] != value) {
      fail("{}: {} is {} there and {} here; use another folder for other settings", path.string(),
           key, found.contains(key) ? found[key].dump() : "absent", value.dump());
    }
  }
}

}  // namespace loci::world
