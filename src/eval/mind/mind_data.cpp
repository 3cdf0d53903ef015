// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/mind/mind_data.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/base/output_path.h"
#include "loci/base/text.h"
#include "loci/camera/formats/mind.h"
#include "loci/camera/lens.h"
#include "loci/io/media/frames.h"
#include "loci/io/media/resize.h"

namespace loci::eval {

namespace fs = std::filesystem;

namespace {

constexpr double kMindAspect = 16. / 9;
constexpr int64_t kScoredWidth = 1280, kScoredHeight = 720;  // frame size of the scorer

// Frames of a clip per second, as durations are counted.
double clock_of(const ClipFormat& format, const ClipOptions& options) {
  return options.clock.value_or(Clock::kRecorded) == Clock::kRecorded
             ? kMindFps / options.stride.value_or(kMindStride)
             : format.fps;
}

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
      : EvalClips(format),
        step_(options.stride.value_or(kMindStride)),
        fov_(options.fov.value_or(kMindFov)) {
    for (const MindRecording& recording : recordings) {
      check_interrupt();
      try {
        add(recording, options);
      } catch (const Error& error) {
        log_warning("{}", error.what());
        Entry& entry = clips_.emplace_back();
        entry.clip.name = recording.clip();
        entry.damage = error.what();
      }
    }
    if (std::all_of(clips_.begin(), clips_.end(),
                    [](const Entry& entry) { return !entry.damage.empty(); })) {
      fail("{}", clips_.empty() ? "no recordings" : clips_.front().damage);
    }
  }

  size_t size() const override { return clips_.size(); }
  const EvalClip& clip(size_t index) const override { return clips_.at(index).clip; }
  std::string damage(size_t index) const override { return clips_.at(index).damage; }

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
      frames[i].copy_(format().stretch
                          ? io::resize_image(picture, format().width, format().height)
                          : io::resize_and_crop(picture, format().width, format().height).image);
    }
    return frames;
  }
  std::string identity(size_t index) const override {
    const Entry& entry = clips_.at(index);
    return fmt::format("{} {} {} from {} every {}{}", fs::canonical(entry.video).string(),
                       fs::file_size(entry.video),
                       fs::last_write_time(entry.video).time_since_epoch().count(),
                       entry.source.front(), step_, format().stretch ? " whole" : "");
  }

 private:
  struct Entry {
    EvalClip clip;
    fs::path video;
    std::vector<int64_t> source;  // recorded frame of every clip frame
    std::string damage;
  };

  void add(const MindRecording& recording, const ClipOptions& options) {
    if (!fs::exists(recording.video)) fail("{}: the file is missing", recording.video.string());
    const camera::MindClip action = camera::read_mind_clip(camera::Source(recording.action));
    const int64_t poses = std::ssize(action.camera);
    const int64_t total = std::min(recording.total_time, poses);
    if (recording.mark_time < 1 || recording.mark_time >= total) {
      fail("{}: mark_time is {}; expected 1 to {}", recording.action.string(), recording.mark_time,
           total - 1);
    }
    const camera::TimeGrid& grid = format().grid;
    const auto chunk = static_cast<double>(grid.frames_per_chunk());
    const double clock = clock_of(format(), options);
    // Frames before mark_time at the rate of the clip: 1 + whole chunks, at least one frame.
    const double before = static_cast<double>(recording.mark_time) / step_;
    int64_t chunks = grid.chunks_in_frames(std::max<int64_t>(1, static_cast<int64_t>(before)));
    if (options.context_seconds > 0) {
      const double most = options.context_seconds * clock / chunk;
      chunks = std::min(chunks, 1 + static_cast<int64_t>(most + 1e-6));
    }
    double after = static_cast<double>(total - recording.mark_time) / step_;
    if (options.seconds) after = std::min(after, *options.seconds * clock);
    const auto fresh = static_cast<int64_t>(std::ceil(after / chunk - 1e-6));

    Entry entry;
    entry.video = recording.video;
    entry.clip.name = recording.clip();
    entry.clip.caption = action.caption;
    entry.clip.context_frames = grid.frames_in_chunks(chunks);
    entry.clip.clock = clock;
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
    entry.clip.revisits = continuation_revisits(entry.clip, grid);
    clips_.push_back(std::move(entry));
  }

  // Lens after a picture is scaled to cover the frame and cropped at the centre.
  camera::Lens cropped_lens(int64_t width, int64_t height) const {
    const double half = 0.5 * camera::radians(fov_);
    if (format().stretch) {
      camera::Lens lens = camera::lens_from_fov(2 * half);
      const double fx = 1 / (2 * std::tan(half));
      const double aspect = static_cast<double>(width) / static_cast<double>(height);
      lens.normalised = {{fx, fx * aspect, 0.5, 0.5}};
      return lens;
    }
    const double scale =
        std::max(static_cast<double>(format().width) / static_cast<double>(width),
                 static_cast<double>(format().height) / static_cast<double>(height));
    const double kept = static_cast<double>(format().width) / (static_cast<double>(width) * scale);
    return camera::lens_from_fov(2 * std::atan(std::tan(half) * kept));
  }

  double step_, fov_;
  std::vector<Entry> clips_;
};

}  // namespace

bool is_mind(const fs::path& root) {
  return fs::exists(root / "1st_data" / "test" / "mem_test") ||
         fs::exists(root / "3rd_data" / "test" / "mem_test");
}

std::vector<MindRecording> find_mind(const fs::path& root, const ClipOptions& options) {
  std::vector<MindRecording> found;
  for (const std::string& view : options.views) {
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
      try {
        const camera::MindClip clip = camera::read_mind_clip(camera::Source(recording.action));
        recording.mark_time = clip.mark_time;
        recording.total_time = clip.total_time;
      } catch (const Error&) {  // open_mind() reports it
      }
      found.push_back(std::move(recording));
    }
  }
  if (found.empty() && is_mind(root)) {
    fail(
        "{}: no recording in {}/test/mem_test; --view selects the first-person or third-person "
        "test",
        root.string(), fmt::join(options.views, "/test/mem_test or "));
  }
  if (options.count && std::ssize(found) > *options.count) {
    found.resize(static_cast<size_t>(*options.count));
  }
  return found;
}

ClipFormat mind_format(ClipFormat format, int64_t token) {
  if (token > 0) {
    const auto tokens = static_cast<double>(format.width / token * (format.height / token));
    const int64_t rows = std::max(1LL, std::llround(std::sqrt(tokens / kMindAspect)));
    const int64_t columns = std::max(1LL, std::llround(static_cast<double>(rows) * kMindAspect));
    format.width = columns * token;
    format.height = rows * token;
  }
  constexpr double kTolerance = 0.05;
  const double aspect = static_cast<double>(format.width) / static_cast<double>(format.height);
  format.stretch = std::abs(aspect / kMindAspect - 1) <= kTolerance;
  return format;
}

std::string mind_size_note(const ClipFormat& format) {
  if (format.stretch) return "";
  const double aspect = static_cast<double>(format.width) / static_cast<double>(format.height);
  // The model sees this share of one side; the scorer then keeps the same share of the other side.
  const double share = 100 * std::min(aspect / kMindAspect, kMindAspect / aspect);
  return fmt::format(
      "Frames of {}x{} are not 16:9: a prediction shows the central {:.0f} % x {:.0f} % of the "
      "recorded frame that the scorer compares it with, so the values of whole frames are too low",
      format.width, format.height, share, share);
}

std::unique_ptr<EvalClips> open_mind(const std::vector<MindRecording>& recordings,
                                     const ClipFormat& format, const ClipOptions& options) {
  return std::make_unique<MindClips>(recordings, format, options);
}

EvalData open_data(const fs::path& folder, const ClipFormat& format, int64_t token,
                   const ClipOptions& options) {
  EvalData data;
  data.mind = find_mind(folder, options);
  if (data.mind.empty()) {
    data.clips = open_recordings(folder, format, options);
    return data;
  }
  const ClipFormat own = mind_format(format, token);
  if (const std::string note = mind_size_note(own); !note.empty()) {
    const ClipFormat wide = mind_format(format, /*token=*/32);
    log_warning("--size: {}; choose a 16:9 size such as {}x{}", note, wide.width, wide.height);
  }
  data.clips = open_mind(data.mind, own, options);
  return data;
}

fs::path MindPrediction::file(const fs::path& root, const MindRecording& recording) {
  return root / recording.view / "mem_test" / recording.name / "video.mp4";
}

MindPrediction::MindPrediction(const fs::path& root, const MindRecording& recording,
                               const ClipFormat& format, const ClipOptions& clips)
    : path_(file(root, recording)),
      stretch_(format.stretch),
      step_(clips.stride.value_or(kMindStride)),
      wanted_(recording.total_time - recording.mark_time) {
  if (clips.seconds) {
    wanted_ =
        std::min<int64_t>(wanted_, std::llround(*clips.seconds * clock_of(format, clips) * step_));
  }
  make_folders(path_.parent_path());
  io::VideoOptions options;
  options.fps = kMindFps;
  options.crf = 10;
  writer_ = std::make_unique<io::VideoWriter>(path_, stretch_ ? kScoredWidth : format.width,
                                              stretch_ ? kScoredHeight : format.height, options);
}

void MindPrediction::add(const at::Tensor& frames) {
  const int64_t end = received_ + frames.size(0);
  for (; written_ < wanted_; ++written_) {
    const auto nearest =
        static_cast<int64_t>(std::ceil(static_cast<double>(written_) / step_ - 0.5));
    if (nearest >= end) break;
    const at::Tensor frame = frames[std::max(nearest, received_) - received_];
    writer_->add(stretch_ ? io::resize_image(frame, kScoredWidth, kScoredHeight) : frame);
  }
  received_ = end;
}

}  // namespace loci::eval
