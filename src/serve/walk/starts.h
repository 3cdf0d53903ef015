// SPDX-License-Identifier: Apache-2.0
// Where a walk may begin: pictures of folders, places rendered from a seed, a client's own
// picture.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"
#include "loci/camera/pose.h"
#include "loci/world/clip/clip.h"
#include "loci/world/scene/world.h"

namespace loci::serve {

// A first frame, uint8 [height, width, 3], and what it shows, if known.
struct StartPicture {
  at::Tensor image;
  std::string prompt;
};

struct Start {
  std::string id, title;
  std::filesystem::path picture;  // empty: procedural
  std::filesystem::path path;     // a camera path through what it shows; may be empty
  world::WorldOptions look;       // of a place
  uint64_t seed = 0;
  std::string prompt, thumbnail;  // of a place: once it was looked at
};

// Safe in any thread.
class Starts {
 public:
  // Pictures (.png, .jpg, .jpeg) of the folders, each with its prompt in a .txt and a camera path
  // in a .json beside it, if there are such; then two places of every style. Of pictures of the
  // same name the first counts.
  explicit Starts(const std::vector<std::filesystem::path>& folders = {});

  // Looks at every place, which takes a moment each, until `stop` says so; list() then need not.
  void prepare(const std::function<bool()>& stop);
  Json list();
  // JPEG, 288 pixels wide.
  std::string thumbnail(const std::string& id);
  // Poses of a video of `fps` along the start's camera path, the first the identity; at most
  // `most`. Refused ("not_found") where there is no path.
  std::vector<camera::Pose> path(const std::string& id, double fps, size_t most) const;

  // Refuses what make() would refuse.
  void check(const Json& start) const;
  // `start` as in `init`: an id, a map of kind "procedural", or null for the first. Unknown ones
  // are refused. `fov` in degrees is that of a rendered place.
  StartPicture make(const Json& start, int64_t width, int64_t height, double fov) const;
  // The place of a `start` and its seed, to be shown by a tour; pictures are refused.
  std::pair<world::ClipOptions, uint64_t> place(const Json& start, int64_t width, int64_t height,
                                                double fov) const;

 private:
  void add_pictures(const std::filesystem::path& folder);
  size_t find(const std::string& id) const;
  // Null for the map of a place; unknown ones are refused.
  const Start* listed(const Json& start) const;
  Start looked_at(size_t index);

  std::vector<Start> starts_;
  std::mutex mutex_;  // of prompts and thumbnails
};

[[noreturn]] void refuse_tour_of_picture();

// A picture that a client sent, JPEG or PNG, of at most so many pixels, fitted to the size.
// Anything else is refused.
at::Tensor uploaded_picture(std::string_view bytes, int64_t most_pixels, int64_t width,
                            int64_t height);

// Width and height as the header tells; nothing when it does not.
std::optional<std::pair<int64_t, int64_t>> announced_size(std::string_view bytes);

}  // namespace loci::serve
