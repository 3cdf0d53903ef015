// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/mind/mind_data.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/output_path.h"
#include "loci/base/text.h"
#include "loci/camera/formats/mind.h"
#include "loci/camera/lens.h"
#include "loci/io/media/frames.h"
#include "loci/io/media/resize.h"

namespace loci::eval {

namespace fs = std::filesystem;

namespace {

// Sort key by number, so that "data-26" precedes "data-110".
std::pair<int64_t, std::string> order_of(const std::string& name) {
  const size_t dash = name.rfind('-');
  const std::string_view digits =
      std::string_view(name).substr(dash == std::string::npos ? 0 : dash + 1);
  return {parse_int(digits).value_or(std::numeric_limits<int64_t>::max()), name};
}

class MindClips : public EvalClips {
 public:
  MindClips(const std::vector<MindRecording>& recordings, const ClipFormat& format,
            const ClipOptions& options)
      : EvalClips(format), step_(kMindFps / format.fps) {
    if (step_ < 0.99) {
      fail("the model generates {} frames per second; MIND supports at most {}", format.fps,
           kMindFps);
    }
    for (const MindRecording& recording : recordings) {
      check_interrupt();
      add(recording, options);
    }
  }

  size_t size() const override { return clips_.size(); }
  const EvalClip& clip(size_t index) const override { return clips_.at(index).clip; }

  at::Tensor read(size_t index, int64_t first, int64_t count) const override {
    const Entry& entry = clips_.at(index);
    LOCI_CHECK(first >= 0 && first + count <= entry.clip.frames(), "frames {} to {} of {}", first,
               first + count, entry.clip.frames());
    const auto source = io::FrameSource::open(entry.video);
    at::Tensor frames = at::empty({count, format().height, format().width, 3}, at::kByte);
    int64_t at = entry.source[static_cast<size_t>(first)];
    source->seek(at);
    at::Tensor picture;
    for (int64_t i = 0; i < count; ++i) {
      check_interrupt();
      for (const int64_t wanted = entry.source[static_cast<size_t>(first + i)]; at <= wanted;
           ++at) {
        const std::optional<at::Tensor> next = source->next();
        if (!next)
          fail("{}: the video ends at frame {}, before the last pose", entry.video.string(), at);
        picture = *next;
      }
      frames[i].copy_(io::resize_and_crop(picture, format().width, format().height).image);
    }
    return frames;
  }
  std::string identity(size_t index) const override {
    const Entry& entry = clips_.at(index);
    return fmt::format(
        "{} {} {} from {}", fs::canonical(entry.video).string(), fs::file_size(entry.video),
        fs::last_write_time(entry.video).time_since_epoch().count(), entry.source.front());
  }

 private:
  struct Entry {
    EvalClip clip;
    fs::path video;
    std::vector<int64_t> source;  // recorded frame of every clip frame
  };

  void add(const MindRecording& recording, const ClipOptions& options) {
    const camera::MindClip action = camera::read_mind_clip(camera::Source(recording.action));
    const int64_t poses = std::ssize(action.camera);
    const int64_t total = std::min(recording.total_time, poses);
    if (recording.mark_time < 1 || recording.mark_time >= total) {
      fail("{}: mark_time is {}; expected 1 to {}", recording.action.string(), recording.mark_time,
           total - 1);
    }
    const camera::TimeGrid& grid = format().grid;
    const auto chunk = static_cast<double>(grid.frames_per_chunk());
    // Frames before mark_time at the rate of the clip: 1 + whole chunks, at least one frame.
    const double before = static_cast<double>(recording.mark_time) / step_;
    int64_t chunks = grid.chunks_in_frames(std::max<int64_t>(1, static_cast<int64_t>(before)));
    if (options.context_seconds > 0) {
      const double most = options.context_seconds * format().fps / chunk;
      chunks = std::min(chunks, 1 + static_cast<int64_t>(most + 1e-6));
    }
    double after = static_cast<double>(total - recording.mark_time) / step_;
    if (options.seconds) after = std::min(after, *options.seconds * format().fps);
    const auto fresh = static_cast<int64_t>(std::ceil(after / chunk - 1e-6));

    Entry entry;
    entry.video = recording.video;
    entry.clip.name = recording.clip();
    entry.clip.caption = action.caption;
    entry.clip.context_frames = grid.frames_in_chunks(chunks);
    const io::VideoReader video(recording.video);
    camera::Trajectory& path = entry.clip.trajectory;
    path.fps = format().fps;
    path.width = static_cast<int>(format().width);
    path.height = static_cast<int>(format().height);
    const camera::Lens lens = cropped_lens(video.width(), video.height());
    for (int64_t i = 0; i < grid.frames_in_chunks(chunks + std::max<int64_t>(1, fresh)); ++i) {
      const double at = static_cast<double>(recording.mark_time) +
                        static_cast<double>(i - entry.clip.context_frames) * step_;
      // The last pose is repeated if the last chunk exceeds the recording.
      const int64_t frame = std::clamp<int64_t>(std::llround(at), 0, total - 1);
      entry.source.push_back(frame);
      path.cameras.push_back({action.camera[static_cast<size_t>(frame)], lens});
    }
    entry.clip.revisits = continuation_revisits(path, entry.clip.context_frames, grid);
    clips_.push_back(std::move(entry));
  }

  // Lens after a picture is scaled to cover the frame and cropped at the centre.
  camera::Lens cropped_lens(int64_t width, int64_t height) const {
    const double scale =
        std::max(static_cast<double>(format().width) / static_cast<double>(width),
                 static_cast<double>(format().height) / static_cast<double>(height));
    const double kept = static_cast<double>(format().width) / (static_cast<double>(width) * scale);
    const double half = 0.5 * camera::radians(format().fov);
    return camera::lens_from_fov(2 * std::atan(std::tan(half) * kept));
  }

  double step_;
  std::vector<Entry> clips_;
};

}  // namespace

std::vector<MindRecording> find_mind(const fs::path& root, std::optional<int64_t> count) {
  std::vector<MindRecording> found;
  for (const char* view : {"1st_data", "3rd_data"}) {
    const fs::path folder = root / view / "test" / "mem_test";
    if (!fs::is_directory(folder)) continue;
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (fs::exists(entry.path() / "action.json")) {
        names.push_back(entry.path().filename().string());
      }
    }
    std::sort(names.begin(), names.end(),
              [](const std::string& a, const std::string& b) { return order_of(a) < order_of(b); });
    for (const std::string& name : names) {
      MindRecording recording{view, name, folder / name / "video.mp4",
                              folder / name / "action.json"};
      if (!fs::exists(recording.video)) {
        fail("{}: video.mp4 is missing", (folder / name).string());
      }
      const camera::MindClip clip = camera::read_mind_clip(camera::Source(recording.action));
      recording.mark_time = clip.mark_time;
      recording.total_time = clip.total_time;
      found.push_back(std::move(recording));
    }
  }
  if (count && std::ssize(found) > *count) found.resize(static_cast<size_t>(*count));
  return found;
}

std::unique_ptr<EvalClips> open_mind(const std::vector<MindRecording>& recordings,
                                     const ClipFormat& format, const ClipOptions& options) {
  return std::make_unique<MindClips>(recordings, format, options);
}

fs::path MindPrediction::file(const fs::path& root, const MindRecording& recording) {
  return root / recording.view / "mem_test" / recording.name / "video.mp4";
}

MindPrediction::MindPrediction(const fs::path& root, const MindRecording& recording,
                               const ClipFormat& format, std::optional<double> seconds)
    : path_(file(root, recording)),
      step_(kMindFps / format.fps),
      wanted_(recording.total_time - recording.mark_time) {
  if (seconds) wanted_ = std::min<int64_t>(wanted_, std::llround(*seconds * kMindFps));
  make_folders(path_.parent_path());
  io::VideoOptions options;
  options.fps = kMindFps;
  options.crf = 10;
  writer_ = std::make_unique<io::VideoWriter>(path_, format.width, format.height, options);
}

void MindPrediction::add(const at::Tensor& frames) {
  const int64_t end = received_ + frames.size(0);
  for (; written_ < wanted_; ++written_) {
    const int64_t nearest = std::llround(static_cast<double>(written_) / step_);
    if (nearest >= end) break;
    writer_->add(frames[std::max(nearest, received_) - received_]);
  }
  received_ = end;
}

}  // namespace loci::eval
