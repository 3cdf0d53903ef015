// SPDX-License-Identifier: Apache-2.0
// The starts of walks: pictures from folders and rendered scenes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/camera/pose.h"
#include "loci/serve/protocol/http_bodies.h"
#include "loci/world/clip/clip_maker.h"
#include "loci/world/scene/scene.h"

namespace loci::serve {

// A first frame, uint8 [H, W, 3], and its prompt; empty if unknown.
struct StartPicture {
  at::Tensor image;
  std::string prompt;
};

struct Start {
  std::string id, title;
  std::filesystem::path picture;  // empty: a rendered scene
  std::filesystem::path path;     // file of a camera path; may be empty
  world::SceneOptions look;       // of a scene
  uint64_t seed = 0;              // of a scene
  std::string prompt, thumbnail;  // of a scene: empty until it was rendered
};

// Any thread may call every function.
class Starts {
 public:
  // Lists the pictures (.png, .jpg, .jpeg) of the folders, then two scenes of every style, or some
  // scenes of each of the `families` if there are any. A .txt file beside a picture contains its
  // prompt, a .json file a camera path; both are optional. Of several pictures with the same name,
  // the first is used.
  explicit Starts(const std::vector<std::filesystem::path>& folders = {},
                  std::vector<world::Style> families = {});

  // Renders the thumbnails of all scenes, so that list() need not, until `stop` returns true.
  void prepare(const std::function<bool()>& stop);
  std::vector<StartInfo> list();
  // The styles of the listed scenes.
  std::vector<std::string> style_names() const;
  // A JPEG of 288x192 pixels.
  std::string thumbnail(const std::string& id);
  // The start's camera path at `fps` frames per second: at most `most` poses, the first one the
  // identity. Starts without a path are refused ("not_found").
  std::vector<camera::Pose> path(const std::string& id, double fps, size_t most) const;

  // Refuses the values that make() refuses.
  void check(const std::optional<StartChoice>& start) const;
  // The first frame of a start; absent: of the first start. Unknown starts are refused. `fov`:
  // field of view of a rendered scene, in degrees.
  StartPicture make(const std::optional<StartChoice>& start, int64_t width, int64_t height,
                    double fov) const;
  // Options and seed of the scene of `start`, for a tour. Pictures are refused.
  std::pair<world::ClipOptions, uint64_t> scene(const std::optional<StartChoice>& start,
                                                int64_t width, int64_t height, double fov) const;

 private:
  void add_pictures(const std::filesystem::path& folder);
  void add_scene(world::Style style, uint64_t seed);
  size_t find(const std::string& id) const;
  // Null if `start` is a scene. Unknown starts are refused.
  const Start* listed(const std::optional<StartChoice>& start) const;
  // A start with prompt and thumbnail; renders them if necessary.
  Start with_thumbnail(size_t index);

  std::vector<world::Style> styles_;  // of rendered scenes
  std::vector<Start> starts_;
  std::mutex mutex_;  // guards prompt and thumbnail of starts_
};

[[noreturn]] void refuse_tour_of_picture();

}  // namespace loci::serve
