// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/starts.h"

#include <algorithm>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/log.h"
#include "loci/base/text.h"
#include "loci/camera/path/resample.h"
#include "loci/camera/path/trajectory_io.h"
#include "loci/io/media/image.h"
#include "loci/io/media/resize.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/storage/shelf.h"
#include "loci/world/clip/clip_maker.h"

namespace loci::serve {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kStartWidth = 288, kStartHeight = 192;  // of thumbnails
constexpr size_t kMostPictures = 64;
constexpr uint64_t kFamilyScenes = 8;  // listed scenes if there is only one style
constexpr uint64_t kPromptBytes = 4000;

std::vector<world::Style> styles() {
  std::vector<world::Style> all(world::kTrainingStyles.begin(), world::kTrainingStyles.end());
  all.insert(all.end(), world::kHeldOutStyles.begin(), world::kHeldOutStyles.end());
  return all;
}

world::ClipOptions scene_options(const world::SceneOptions& look, int64_t width, int64_t height,
                                 double fov) {
  world::ClipOptions options;
  options.frames = 1;
  options.width = static_cast<int>(width);
  options.height = static_cast<int>(height);
  options.fov = fov;
  options.split = std::find(world::kHeldOutStyles.begin(), world::kHeldOutStyles.end(),
                            *look.style) != world::kHeldOutStyles.end()
                      ? world::Split::kHeldOut
                      : world::Split::kTest;
  options.scene = look;
  options.tour = world::has_tour(*look.style);  // begins with the first frame of the tour
  return options;
}

StartPicture render_scene(const world::ClipOptions& options, uint64_t seed) {
  const world::Clip clip = world::make_clip(seed, 0, options);
  return {clip.frames[0].clone(), clip.caption};
}

// Style and seed of a procedural start.
std::pair<world::Style, uint64_t> scene_of(const ProceduralStart& start) {
  return {checked("bad_request", [&] { return world::parse_style(start.style); }),
          start.seed.value};
}

// The id of a picture: characters of its file name that a URL may contain, others become '-'.
std::string id_of(const fs::path& path) {
  std::string id = "picture-";
  for (const char c : path.stem().string()) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    id += plain ? c : '-';
  }
  return id;
}

// The title of a picture: the words of its file name.
std::string title_of(const fs::path& path) {
  std::string title = path.stem().string();
  std::replace_if(
      title.begin(), title.end(), [](char c) { return c == '-' || c == '_'; }, ' ');
  return title;
}

}  // namespace

void Starts::add_pictures(const fs::path& folder) {
  if (!fs::is_directory(folder))
    fail("{} is not a folder; expected a folder of start pictures", folder.string());
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with('.')) continue;  // still being written
    const std::string kind = lower(entry.path().extension().string());
    if (kind == ".png" || kind == ".jpg" || kind == ".jpeg") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  if (files.size() > kMostPictures) {
    log_warning("{} contains {} pictures; only the first {} are listed", folder.string(),
                files.size(), kMostPictures);
    files.resize(kMostPictures);
  }
  for (const fs::path& file : files) {
    Start start;
    start.id = id_of(file);
    start.title = title_of(file);
    start.picture = file;
    fs::path beside = file;
    beside.replace_extension(".txt");
    if (file_exists(beside)) start.prompt = one_line(trim(read_file(beside, kPromptBytes)));
    beside.replace_extension(".json");
    if (file_exists(beside)) start.path = beside;
    const bool taken = std::any_of(starts_.begin(), starts_.end(),
                                   [&](const Start& other) { return other.id == start.id; });
    if (!taken) starts_.push_back(std::move(start));
  }
}

void Starts::add_scene(world::Style style, uint64_t seed) {
  const std::string name(world::name_of(style));
  Start start;
  start.id = fmt::format("{}-{}", name, seed);
  start.seed = seed;
  start.look.style = style;
  if (world::has_one_mood(style)) {
    start.title = fmt::format("{} {}", name, seed);
  } else {
    // The first scene of each style is by day; the others alternate between dusk and night.
    const world::Time time = seed == 1                 ? world::Time::kDay
                             : starts_.size() % 2 == 0 ? world::Time::kDusk
                                                       : world::Time::kNight;
    start.title = fmt::format("{} {} {}", name, seed == 1 ? "by" : "at", world::name_of(time));
    start.look.time = time;
  }
  starts_.push_back(std::move(start));
}

Starts::Starts(const std::vector<fs::path>& folders, std::vector<world::Style> families)
    : styles_(families.empty() ? styles() : std::move(families)) {
  const uint64_t scenes = styles_.size() == 1 ? kFamilyScenes : 2;
  for (const fs::path& folder : folders) add_pictures(folder);
  for (uint64_t seed = 1; seed <= scenes; ++seed) {
    for (const world::Style style : styles_) add_scene(style, seed);
  }
}

Start Starts::with_thumbnail(size_t index) {
  const std::lock_guard lock(mutex_);
  Start& start = starts_[index];
  if (start.thumbnail.empty()) {
    const StartPicture picture = make(start.id, kStartWidth, kStartHeight, 75);
    const std::vector<std::byte> jpeg = io::encode_jpeg(picture.image, 85);
    start.thumbnail.assign(reinterpret_cast<const char*>(jpeg.data()), jpeg.size());
    if (start.picture.empty()) start.prompt = picture.prompt;
  }
  return start;
}

void Starts::prepare(const std::function<bool()>& stop) {
  for (size_t i = 0; i < starts_.size() && !stop(); ++i) {
    try {
      with_thumbnail(i);
    } catch (const Error& error) {
      log_warning("start {} cannot be used: {}", starts_[i].id, error.what());
    }
  }
}

std::vector<StartInfo> Starts::list() {
  std::vector<StartInfo> data;
  for (size_t i = 0; i < starts_.size(); ++i) {
    Start start;
    try {
      start = with_thumbnail(i);
    } catch (const Error&) {
      continue;  // an unreadable picture; prepare() has logged it
    }
    const bool procedural = start.picture.empty();
    StartInfo& info = data.emplace_back();
    info.id = start.id;
    info.kind = procedural ? "procedural" : "picture";
    info.title = start.title;
    info.prompt = start.prompt;
    if (procedural) {
      info.style = world::name_of(*start.look.style);
      if (world::has_tour(*start.look.style)) info.tour_seconds = world::kTourSeconds;
    }
    if (!start.path.empty()) info.path = "/v1/starts/" + start.id + "/path";
    info.picture = "/v1/starts/" + start.id + "/picture";
  }
  return data;
}

std::vector<std::string> Starts::style_names() const {
  std::vector<std::string> names;
  for (const world::Style style : styles_) names.emplace_back(world::name_of(style));
  return names;
}

size_t Starts::find(const std::string& id) const {
  const auto found = std::find_if(starts_.begin(), starts_.end(),
                                  [&](const Start& start) { return start.id == id; });
  if (found == starts_.end()) refuse("not_found", "start: there is no such start");
  return static_cast<size_t>(found - starts_.begin());
}

std::string Starts::thumbnail(const std::string& id) { return with_thumbnail(find(id)).thumbnail; }

std::vector<camera::Pose> Starts::path(const std::string& id, double fps, size_t most) const {
  const Start& start = starts_[find(id)];
  if (start.path.empty()) refuse("not_found", "this start has no camera path");
  camera::Trajectory path = camera::read_trajectory(start.path);
  const double needed = static_cast<double>(most) / fps;  // seconds
  if (path.fps != fps) path = camera::resample(path, fps, needed);
  if (path.cameras.size() > most) path.cameras.resize(most);
  return camera::relative_to_first(camera::poses_of(path.cameras));
}

void Starts::check(const std::optional<StartChoice>& start) const {
  if (!start) return;
  if (const auto* id = std::get_if<std::string>(&*start)) {
    find(*id);
  } else {
    scene_of(std::get<ProceduralStart>(*start));
  }
}

void refuse_tour_of_picture() {
  refuse("bad_request", "tour_seconds: the start is a picture; a tour needs a rendered scene");
}

const Start* Starts::listed(const std::optional<StartChoice>& start) const {
  if (!start) return &starts_.front();
  const auto* id = std::get_if<std::string>(&*start);
  return id == nullptr ? nullptr : &starts_[find(*id)];
}

std::pair<world::ClipOptions, uint64_t> Starts::scene(const std::optional<StartChoice>& start,
                                                      int64_t width, int64_t height,
                                                      double fov) const {
  const Start* found = listed(start);
  if (found == nullptr) {
    const auto [style, seed] = scene_of(std::get<ProceduralStart>(*start));
    return {scene_options({.style = style}, width, height, fov), seed};
  }
  if (!found->picture.empty()) refuse_tour_of_picture();
  return {scene_options(found->look, width, height, fov), found->seed};
}

StartPicture Starts::make(const std::optional<StartChoice>& start, int64_t width, int64_t height,
                          double fov) const {
  const Start* found = listed(start);
  if (found != nullptr && !found->picture.empty()) {
    return {io::resize_and_crop(io::read_image(found->picture), width, height).image,
            found->prompt};
  }
  const auto [options, seed] = scene(start, width, height, fov);
  return render_scene(options, seed);
}

}  // namespace loci::serve
