// SPDX-License-Identifier: Apache-2.0
#include "loci/world/clip/manifest.h"

#include "loci/base/error.h"
#include "loci/base/file.h"

namespace loci::world {

Json describe(const ClipOptions& options) {
  Json designed = Json::array();
  for (const DesignedPath path : options.designed) designed.push_back(name_of(path));
  const WorldOptions& world = options.world;
  return {
      {"split", name_of(options.split)},
      {"frames", options.frames},
      {"width", options.width},
      {"height", options.height},
      {"fps", options.fps},
      {"fov", options.fov},
      {"xi", options.xi},
      {"samples", options.samples},
      {"revisit_share", options.revisit_share},
      {"clips_per_world", options.clips_per_world},
      {"style", world.style ? Json(name_of(*world.style)) : Json(nullptr)},
      {"time", world.time ? Json(name_of(*world.time)) : Json(nullptr)},
      {"weather", world.weather ? Json(name_of(*world.weather)) : Json(nullptr)},
      {"designed", designed},
  };
}

void keep_manifest(const std::filesystem::path& folder, const Json& wanted) {
  const std::filesystem::path path = folder / "manifest.json";
  if (!std::filesystem::exists(path)) {
    write_file(path, wanted.dump(2) + "\n");
    return;
  }
  const Json found = load_json(path);
  for (const auto& [key, value] : wanted.items()) {
    if (!found.contains(key) || found[key] != value) {
      fail("{}: {} is {} there and {} here; put another dataset into another folder", path.string(),
           key, found.contains(key) ? found[key].dump() : "absent", value.dump());
    }
  }
}

}  // namespace loci::world
