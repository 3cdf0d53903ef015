// SPDX-License-Identifier: Apache-2.0
#include "loci/world/clip/record.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/interrupt.h"
#include "loci/base/output_path.h"
#include "loci/base/progress.h"
#include "loci/camera/path/resample.h"
#include "loci/camera/path/trajectory_io.h"
#include "loci/io/media/frames.h"
#include "loci/io/tensors/npy.h"
#include "loci/world/clip/tar.h"
#include "loci/world/recording/manifest.h"
#include "loci/world/scene/name_list.h"

namespace loci::world {

namespace fs = std::filesystem;

namespace {

constexpr int kFormatVersion = 1;
constexpr std::string_view kVideoNames[] = {"mp4", "lossless", "png"};
constexpr std::string_view kDepthNames[] = {"none", "half", "float"};

Json manifest(const RecordOptions& o) {
  Json json = describe(o.clip);
  json.update({
      {"format", "loci-clips"},
      {"version", kFormatVersion},
      {"seed", o.seed},
      {"clips", o.count},
      {"video", kVideoNames[static_cast<size_t>(o.video)]},
      {"depth", kDepthNames[static_cast<size_t>(o.depth)]},
      {"container", o.tar ? "tar" : "folders"},
      {"clips_per_tar", o.tar ? o.clips_per_tar : 0},
      {"convention",
       "camera to world, OpenCV axes (x right, y down, z forward), metres; depth in metres along "
       "the ray through a pixel's centre, inf for sky"},
  });
  return json;
}

void write_pictures(const fs::path& folder, const Clip& clip, const RecordOptions& options) {
  if (options.video == RecordOptions::Video::kPng) {
    io::write_frame_sequence(folder / "frames", clip.frames);
    return;
  }
  io::VideoOptions video;
  video.fps = clip.trajectory.fps;
  video.lossless = options.video == RecordOptions::Video::kLossless;
  io::write_video(folder / "video.mp4", clip.frames, video);
}

// poses.npy [frames, 4, 4], intrinsics.npy [frames, 4] in pixels, path.json.
void write_cameras(const fs::path& folder, const camera::Trajectory& path) {
  const int64_t frames = static_cast<int64_t>(path.cameras.size());
  at::Tensor poses = at::zeros({frames, 4, 4}, at::kDouble),
             lenses = at::zeros({frames, 4}, at::kDouble);
  auto pose = poses.accessor<double, 3>();
  auto lens = lenses.accessor<double, 2>();
  for (int64_t i = 0; i < frames; ++i) {
    const camera::Pose& p = path.cameras[static_cast<size_t>(i)].pose;
    const double position[] = {p.position.x, p.position.y, p.position.z};
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) pose[i][r][c] = p.rotation(r, c);
      pose[i][r][3] = position[r];
    }
    pose[i][3][3] = 1;
    const double half = 0.5 * path.cameras[static_cast<size_t>(i)].lens.fov_x;
    const double focal = 0.5 * path.width * exact_cos(half) / exact_sin(half);
    const double values[] = {focal, focal, 0.5 * path.width, 0.5 * path.height};
    for (int k = 0; k < 4; ++k) lens[i][k] = values[k];
  }
  io::write_npy(folder / "poses.npy", poses);
  if (path.cameras.front().lens.xi == 0) io::write_npy(folder / "intrinsics.npy", lenses);
  camera::write_trajectory(folder / "path.json", camera::latent_poses(path), camera::kLociJson);
}

// Adds the files of a clip's folder under WebDataset names: 000007.mp4, 000007.poses.npy, …
void add_to_tar(TarWriter& tar, const std::string& key, const fs::path& folder) {
  static constexpr std::pair<const char*, const char*> kNames[] = {
      {"video.mp4", "mp4"},       {"poses.npy", "poses.npy"}, {"intrinsics.npy", "intrinsics.npy"},
      {"path.json", "path.json"}, {"depth.npy", "depth.npy"}, {"caption.txt", "txt"},
      {"clip.json", "json"},
  };
  for (const auto& [from, to] : kNames) {
    if (fs::exists(folder / from)) tar.add_file(fmt::format("{}.{}", key, to), folder / from);
  }
  if (!fs::exists(folder / "frames")) return;
  std::vector<fs::path> images;
  for (const auto& entry : fs::directory_iterator(folder / "frames"))
    images.push_back(entry.path());
  std::sort(images.begin(), images.end());
  for (const fs::path& image : images) {
    tar.add_file(fmt::format("{}.{}", key, image.filename().string()), image);
  }
}

// A temporary folder for one clip of a tar file.
class Scratch {
 public:
  explicit Scratch(fs::path path) : path_(std::move(path)) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Calls `use` for the clips of `indices`, in order, rendered by worker threads.
template <typename Use>
void for_clips(const RecordOptions& options, const std::vector<int64_t>& indices, Use&& use) {
  if (indices.empty()) return;
  // Positions of the loader are positions in `indices`.
  struct Listed : ClipSource {
    Listed(const RecordOptions& o, const std::vector<int64_t>& list)
        : clips(o.seed, o.clip), indices(list) {}
    Clip make(int64_t position) override {
      return clips.make(indices[static_cast<size_t>(position)]);
    }
    SceneClips clips;
    const std::vector<int64_t>& indices;
  };
  LoaderOptions loader_options;
  loader_options.workers = options.workers;
  loader_options.ahead = options.workers + 1;
  loader_options.count = static_cast<int64_t>(indices.size());
  ClipLoader loader([&] { return std::make_unique<Listed>(options, indices); }, loader_options);
  Progress progress("recording", indices.size(), "clips");
  for (const int64_t index : indices) {
    check_interrupt();
    use(index, loader.next());
    progress.advance();
  }
}

void record_folders(const fs::path& folder, const RecordOptions& options) {
  make_folders(folder / "clips");
  std::vector<int64_t> indices;
  const auto place = [&](int64_t index) { return folder / "clips" / fmt::format("{:06}", index); };
  for (int64_t i = options.shard; i < options.count; i += options.shards) {
    if (!fs::exists(place(i) / "clip.json")) indices.push_back(i);
  }
  for_clips(options, indices, [&](int64_t index, const Clip& clip) {
    AtomicDirectory directory(place(index));
    write_clip(directory.temporary(), clip, options);
    directory.commit();
  });
}

void record_tars(const fs::path& folder, const RecordOptions& options) {
  const int64_t files = (options.count + options.clips_per_tar - 1) / options.clips_per_tar;
  for (int64_t file = options.shard; file < files; file += options.shards) {
    const fs::path path = folder / fmt::format("clips-{:06}.tar", file);
    if (fs::exists(path)) continue;
    std::vector<int64_t> indices;
    for (int64_t i = file * options.clips_per_tar;
         i < std::min((file + 1) * options.clips_per_tar, options.count); ++i) {
      indices.push_back(i);
    }
    TarWriter tar(path);
    for_clips(options, indices, [&](int64_t index, const Clip& clip) {
      const Scratch scratch(folder / fmt::format(".clip-{:06}", index));
      write_clip(scratch.path(), clip, options);
      add_to_tar(tar, fmt::format("{:06}", index), scratch.path());
    });
    tar.finish();
  }
}

}  // namespace

RecordOptions::Video parse_video(std::string_view name) {
  return value_of<RecordOptions::Video>("video format", name, kVideoNames);
}
RecordOptions::Depth parse_depth(std::string_view name) {
  return value_of<RecordOptions::Depth>("depth", name, kDepthNames);
}

Json describe(const Clip& clip) {
  Json revisits = Json::array();
  for (const camera::Revisit& r : clip.revisits) revisits.push_back({r.frame, r.earlier});
  const camera::Lens& lens = clip.trajectory.cameras.front().lens;
  const SceneOrigin origin = clip.origin.value_or(SceneOrigin());
  return {
      {"index", origin.index},
      {"seed", origin.seed},
      {"world", origin.scene_seed},
      {"style", origin.style},
      {"time", origin.time},
      {"weather", origin.weather},
      {"path", clip.path},
      {"captions", clip.captions},
      {"frames", clip.trajectory.cameras.size()},
      {"fps", clip.trajectory.fps},
      {"width", clip.trajectory.width},
      {"height", clip.trajectory.height},
      {"x_fov_deg", std::round(lens.fov_x * (180 / kPi) * 1e9) / 1e9},
      {"xi", lens.xi},
      {"revisits", revisits},  // [frame, first visit]
  };
}

void write_clip(const fs::path& folder, const Clip& clip, const RecordOptions& options) {
  write_pictures(folder, clip, options);
  write_cameras(folder, clip.trajectory);
  if (clip.depth.defined() && options.depth != RecordOptions::Depth::kNone) {
    const bool half = options.depth == RecordOptions::Depth::kHalf;
    io::write_npy(folder / "depth.npy", half ? clip.depth.to(at::kHalf) : clip.depth);
  }
  write_file(folder / "caption.txt", clip.caption + "\n");
  write_file(folder / "clip.json", describe(clip).dump(1) + "\n");
}

void record(const fs::path& folder, const RecordOptions& wanted) {
  RecordOptions options = wanted;
  options.clip.depth = options.depth != RecordOptions::Depth::kNone;
  if (options.count < 1) fail("{} clips; expected at least one", options.count);
  if (options.shards < 1 || options.shard < 0 || options.shard >= options.shards) {
    fail("shard {}/{}; expected i/n with 0 <= i < n", options.shard, options.shards);
  }
  if (options.clips_per_tar < 1)
    fail("{} clips per tar file; expected at least one", options.clips_per_tar);
  if (options.video == RecordOptions::Video::kMp4 &&
      (options.clip.width % 2 != 0 || options.clip.height % 2 != 0)) {
    fail("{}x{} pixels: MP4 needs an even width and height; choose another size or --video png",
         options.clip.width, options.clip.height);
  }
  ClipMaker check_options(options.clip);
  make_folders(folder);
  keep_manifest(folder, manifest(options));
  options.tar ? record_tars(folder, options) : record_folders(folder, options);
}

}  // namespace loci::world
