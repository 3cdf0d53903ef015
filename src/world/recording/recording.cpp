// SPDX-License-Identifier: Apache-2.0
#include "loci/world/recording/recording.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <ATen/ATen.h>

#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/interrupt.h"
#include "loci/base/text.h"
#include "loci/camera/lens.h"
#include "loci/camera/path/resample.h"
#include "loci/camera/path/trajectory_io.h"
#include "loci/io/media/frames.h"
#include "loci/io/media/resize.h"
#include "loci/io/tensors/npy.h"

namespace loci::world {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kCaptionLimit = 1 << 16;  // bytes
constexpr int64_t kSlack = 4;  // largest difference of the numbers of poses and frames: one latent

// clip.json of recorded scenes contains lenses that poses.npy cannot store, such as fisheye lenses.
std::optional<camera::Lens> own_lens(const fs::path& video) {
  const fs::path file = video.parent_path() / "clip.json";
  if (!fs::exists(file)) return std::nullopt;
  const ConfigReader reader(load_json(file), file.string());
  if (!reader.has("x_fov_deg") || !reader.has("xi")) return std::nullopt;
  camera::Lens lens;
  lens.fov_x = camera::radians(reader.get<double>("x_fov_deg", 90, 1, 359));
  lens.xi = reader.get<double>("xi", 0, 0, 10);
  return lens;
}

bool is_video(const fs::path& path) { return io::is_video_name(path) && fs::is_regular_file(path); }

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> list;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with(".")) list.push_back(entry.path());
  }
  std::sort(list.begin(), list.end());
  return list;
}

// The camera file of a folder with one recording.
fs::path camera_in(const fs::path& folder) {
  for (const char* name :
       {"poses.npy", "camera.json", "camera.npz", "camera.npy", "camera.txt", "trajectory.json",
        "trajectory.txt", "trajectory.npz", "path.json", "transforms.json", "cameras.txt",
        "cameras.npz", "poses.npz", "poses.txt", "poses.json", "cameras", "sparse"}) {
    if (fs::exists(folder / name)) return folder / name;
  }
  return {};
}

fs::path camera_beside(const fs::path& video) {
  const fs::path stem = video.parent_path() / video.stem();
  for (const char* suffix : {".camera.json", ".camera.txt", ".camera.npz", ".camera.npy", ".json",
                             ".npz", ".npy", ".poses.npy", "_poses.npy", "_pose.npy"}) {
    fs::path candidate = stem;
    candidate += suffix;
    if (fs::exists(candidate)) return candidate;
  }
  return {};
}

fs::path if_there(fs::path path) { return fs::exists(path) ? path : fs::path(); }

void search(const fs::path& folder, const fs::path& root, std::vector<RecordingFiles>& found) {
  const std::vector<fs::path> list = entries(folder);
  std::vector<fs::path> videos;
  for (const fs::path& path : list) {
    if (is_video(path)) videos.push_back(path);
  }
  const auto name_of_path = [&](const fs::path& path) {
    const std::string name = path.lexically_relative(root).string();
    return name == "." ? root.filename().string() : name;
  };
  const bool images = fs::is_directory(folder / "frames");
  if (videos.size() + (images ? 1 : 0) == 1) {
    const fs::path camera = camera_in(folder);
    if (!camera.empty()) {
      found.push_back({name_of_path(folder), images ? folder / "frames" : videos.front(), camera,
                       if_there(folder / "caption.txt"), if_there(folder / "depth.npy")});
      return;
    }
  }
  for (const fs::path& video : videos) {
    const fs::path camera = camera_beside(video);
    if (camera.empty()) {
      fail("{}: no camera file; expected {}.json, .npy, .npz or .camera.txt beside it",
           video.string(), video.stem().string());
    }
    fs::path stem = video.parent_path() / video.stem(), caption = stem, plain = stem;
    caption += ".caption.txt";
    plain += ".txt";
    found.push_back(
        {name_of_path(stem), video, camera, fs::exists(caption) ? caption : if_there(plain), {}});
  }
  if (images && videos.empty()) {
    fail(
        "{}: pictures without a camera file; expected poses.npy, camera.json, path.json or "
        "transforms.json",
        folder.string());
  }
  for (const fs::path& path : list) {
    if (fs::is_directory(path) && path.filename() != "frames") search(path, root, found);
  }
}

// The lens of cropped frames: `keep_x` and `keep_y` are the shares of width and height that remain.
camera::Lens cropped(const camera::Lens& lens, double keep_x, double keep_y) {
  camera::Lens result = lens;
  const double half = 0.5 * lens.fov_x;
  // Focal length / (width / 2) of the cropped frame, and its field of view.
  const double focal = (std::cos(half) + lens.xi) / std::sin(half) / keep_x;
  result.fov_x = 2 * (std::acos(-lens.xi / std::sqrt(1 + focal * focal)) - std::atan(focal));
  if (lens.normalised) {
    const auto& [fx, fy, cx, cy] = *lens.normalised;
    result.normalised = {
        {fx / keep_x, fy / keep_y, (cx - 0.5) / keep_x + 0.5, (cy - 0.5) / keep_y + 0.5}};
  }
  return result;
}

// The recordings that have at least the frames of one clip.
std::vector<Recording> open_recordings(const fs::path& folder, const RecordingOptions& options) {
  std::vector<Recording> recordings;
  for (RecordingFiles& files : find_recordings(folder)) {
    check_interrupt();
    Recording recording(std::move(files), options);
    if (recording.frame_count() >= options.frames) recordings.push_back(std::move(recording));
  }
  if (recordings.empty()) {
    fail("{}: no recording has the {} frames of a clip at {:.3g} frames per second",
         folder.string(), options.frames, options.fps);
  }
  return recordings;
}

}  // namespace

std::vector<RecordingFiles> find_recordings(const fs::path& folder) {
  if (!fs::is_directory(folder)) fail("{}: not a folder", folder.string());
  std::vector<RecordingFiles> found;
  search(folder, folder, found);
  if (found.empty()) {
    fail(
        "{}: no recordings; expected a video with a camera file and a caption in it or in folders "
        "below",
        folder.string());
  }
  return found;
}

Recording::Recording(RecordingFiles files, const RecordingOptions& options)
    : files_(std::move(files)), options_(options) {
  const auto source = io::FrameSource::open(files_.video, options.fps);
  const int64_t pictures = source->frame_count();
  const double video_fps = source->fps();
  camera::ReadOptions read;
  read.fov_x = camera::radians(options.fov);
  read.video_fps = video_fps;
  read.size = {static_cast<int>(source->width()), static_cast<int>(source->height())};
  camera::Trajectory path = camera::read_trajectory(files_.camera, read);
  if (const auto lens = own_lens(files_.video)) {
    for (camera::Camera& camera : path.cameras) camera.lens = *lens;
  }
  if (path.frames_per_pose != 1) path = camera::frame_poses(path);
  // A camera file with times may have another rate than the video.
  if (std::abs(path.fps - video_fps) > 1e-3 * video_fps) path = camera::resample(path, video_fps);
  const int64_t poses = static_cast<int64_t>(path.cameras.size());
  if (std::abs(poses - pictures) > kSlack) {
    fail("{}: {} poses for the {} frames of {}; the numbers must match", files_.camera.string(),
         poses, pictures, files_.video.filename().string());
  }
  const int64_t usable = std::min(poses, pictures);
  recorded_fps_ = video_fps;
  stride_ = options.stride > 0 ? options.stride : video_fps / options.fps;
  if (stride_ < 0.99) {
    fail("{}: {:.3g} frames per second; expected at least {:.3g}", files_.video.string(), video_fps,
         options.fps);
  }
  const double scale =
      std::max(static_cast<double>(options.width) / static_cast<double>(source->width()),
               static_cast<double>(options.height) / static_cast<double>(source->height()));
  const double keep_x = options.width / (static_cast<double>(source->width()) * scale);
  const double keep_y = options.height / (static_cast<double>(source->height()) * scale);
  trajectory_.fps = options.fps;
  trajectory_.width = options.width;
  trajectory_.height = options.height;
  for (int64_t i = 0;; ++i) {
    const int64_t frame = std::llround(static_cast<double>(i) * stride_);
    if (frame >= usable) break;
    source_frame_.push_back(frame);
    const auto& [pose, lens] = path.cameras[static_cast<size_t>(frame)];
    trajectory_.cameras.push_back({pose, cropped(lens, keep_x, keep_y)});
  }
  if (!files_.caption.empty())
    caption_ = std::string(trim(read_file(files_.caption, kCaptionLimit)));
}

Clip Recording::read(int64_t first, int64_t frames) const {
  LOCI_CHECK(first >= 0 && frames >= 1 && first + frames <= frame_count(), "frames {} to {} of {}",
             first, first + frames, frame_count());
  Clip clip;
  clip.path = files_.name;
  clip.caption = caption_;
  clip.captions = {caption_};
  clip.frames = at::empty({frames, options_.height, options_.width, 3}, at::kByte);
  const auto source = io::FrameSource::open(files_.video, options_.fps);
  source->seek(source_frame_[static_cast<size_t>(first)]);
  int64_t at = source_frame_[static_cast<size_t>(first)];
  std::optional<at::Tensor>
      picture;  // kept, because a slightly slower video gives some frames twice
  for (int64_t i = 0; i < frames; ++i) {
    check_interrupt();
    for (const int64_t wanted = source_frame_[static_cast<size_t>(first + i)]; at <= wanted; ++at) {
      picture = source->next();
      if (!picture)
        fail("{}: the video ends at frame {}, before its last pose", files_.video.string(), at);
    }
    clip.frames[i].copy_(io::resize_and_crop(*picture, options_.width, options_.height).image);
  }
  const auto begin = trajectory_.cameras.begin() + first;
  clip.trajectory = {{begin, begin + frames}, options_.fps, 1, options_.width, options_.height};
  clip.revisits = camera::find_revisits(camera::poses_of(clip.trajectory.cameras), options_.fps);
  return clip;
}

at::Tensor Recording::read_depth(int64_t step) const {
  LOCI_CHECK(step >= 1, "depth of every {}th frame", step);
  std::vector<int64_t> frames;
  for (int64_t i = 0; i < frame_count(); i += step) frames.push_back(i);
  return depth_of(frames);
}

at::Tensor Recording::read_depth(int64_t first, int64_t count) const {
  LOCI_CHECK(first >= 0 && count >= 1 && first + count <= frame_count(), "frames {} to {} of {}",
             first, first + count, frame_count());
  std::vector<int64_t> frames(static_cast<size_t>(count));
  std::iota(frames.begin(), frames.end(), first);
  return depth_of(frames);
}

at::Tensor Recording::depth_of(const std::vector<int64_t>& frames) const {
  if (files_.depth.empty()) return {};
  std::vector<int64_t> rows;
  for (const int64_t frame : frames) rows.push_back(source_frame_[static_cast<size_t>(frame)]);
  const int64_t first = rows.front();
  const at::Tensor recorded = io::read_npy_rows(files_.depth, first, rows.back() - first + 1);
  if (recorded.dim() != 3 || !at::isFloatingType(recorded.scalar_type()) || recorded.size(1) < 1 ||
      recorded.size(2) < 1) {
    fail("{}: {} with {} axes; expected floats [frames, height, width]", files_.depth.string(),
         at::toString(recorded.scalar_type()), recorded.dim());
  }
  for (int64_t& row : rows) row -= first;
  // The recorded pixel at the centre of each pixel of the resized and cropped frame.
  const auto nearest = [](int64_t ours, int64_t theirs, double scale) {
    const double margin = (static_cast<double>(theirs) * scale - static_cast<double>(ours)) / 2;
    std::vector<int64_t> index;
    for (int64_t i = 0; i < ours; ++i) {
      const double at = (static_cast<double>(i) + 0.5 + margin) / scale;
      index.push_back(std::clamp<int64_t>(static_cast<int64_t>(at), 0, theirs - 1));
    }
    return at::tensor(index, at::kLong);
  };
  const double scale =
      std::max(static_cast<double>(options_.width) / static_cast<double>(recorded.size(2)),
               static_cast<double>(options_.height) / static_cast<double>(recorded.size(1)));
  return recorded.index_select(0, at::tensor(rows, at::kLong))
      .index_select(1, nearest(options_.height, recorded.size(1), scale))
      .index_select(2, nearest(options_.width, recorded.size(2), scale))
      .to(at::kFloat);
}

std::string Recording::identity() const {
  const fs::path file = fs::canonical(files_.video);
  const bool folder = fs::is_directory(file);
  return fmt::format("{} {} {}", file.string(), folder ? 0 : fs::file_size(file),
                     fs::last_write_time(file).time_since_epoch().count());
}

RecordingPieces::RecordingPieces(const fs::path& folder, const RecordingOptions& options)
    : options_(options), recordings_(open_recordings(folder, options)) {
  for (size_t i = 0; i < recordings_.size(); ++i) {
    const int64_t end = recordings_[i].frame_count() - options.frames;
    for (int64_t first = 0; first <= end; first += options.frames) pieces_.push_back({i, first});
  }
}

Clip RecordingPieces::read(int64_t index) const {
  const Piece& piece = pieces_.at(static_cast<size_t>(index));
  return recordings_[piece.recording].read(piece.first, options_.frames);
}

}  // namespace loci::world
