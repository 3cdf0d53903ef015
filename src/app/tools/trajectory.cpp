// SPDX-License-Identifier: Apache-2.0
// loci trajectory show | convert | make
#include <filesystem>
#include <optional>

#include "loci/app/cli/command.h"
#include "loci/base/error.h"
#include "loci/base/log.h"
#include "loci/base/text.h"
#include "loci/camera/path/presets.h"
#include "loci/camera/path/resample.h"
#include "loci/camera/path/trajectory_io.h"
#include "loci/camera/statistics.h"
#include "loci/camera/top_view.h"

namespace loci::app {

namespace {

using camera::Format;
using camera::PathStatistics;
using camera::Trajectory;

// Options of every command that reads a path.
struct InputOptions {
  std::string input;
  std::string from;
  double fov = 90;  // degrees
  std::optional<double> fps;
  std::string size;
  std::string intrinsics;
  bool world_to_camera = false;
  bool actor = false;
  double scale = 1;
  double move_speed = 1;
  double turn_speed = 30;  // degrees a second

  camera::KeySpeeds key_speeds() const {
    return {.move = move_speed, .turn = camera::radians(turn_speed)};
  }
};

CLI::Validator above_zero(double largest) {
  return CLI::Validator(
      [largest](std::string& text) -> std::string {
        const std::optional<double> value = parse_double(text);
        if (value && *value > 0 && *value <= largest) return {};
        return fmt::format("'{}' must be a number above 0, at most {}", text, largest);
      },
      "");
}

void add_fov(CLI::App& app, double& fov) {
  app.add_option("--fov", fov, "horizontal field of view where the file has no lens")
      ->type_name("DEG")
      ->check(above_zero(179))
      ->capture_default_str();
}

void add_key_speeds(CLI::App& app, InputOptions& o) {
  app.add_option("--move-speed", o.move_speed, "speed of the moving keys")
      ->type_name("M/S")
      ->check(above_zero(1000))
      ->capture_default_str();
  app.add_option("--turn-speed", o.turn_speed, "speed of the looking keys")
      ->type_name("DEG/S")
      ->check(above_zero(3600))
      ->capture_default_str();
}

void add_input_options(CLI::App& app, InputOptions& o) {
  app.add_option("input", o.input, "file, folder, or key string such as w-32,left-16")->required();
  app.add_option("--from", o.from, "format of the input; found by its content if not given")
      ->check(CLI::IsMember(camera::format_names()));
  add_fov(app, o.fov);
  app.add_option("--input-fps", o.fps, "video frames a second where the file has no times")
      ->type_name("N")
      ->check(above_zero(1000));
  app.add_option("--size", o.size, "image size in pixels; 2 cx by 2 cy of the lens if not given")
      ->type_name("WxH");
  app.add_option("--intrinsics", o.intrinsics,
                 "lenses of a .npy of poses; intrinsics.npy beside it")
      ->type_name("FILE");
  app.add_flag("--w2c", o.world_to_camera, "the matrices of a .npy or .npz are world-to-camera");
  app.add_flag("--actor", o.actor, "MIND: follow the character, not the camera");
  app.add_option("--scale", o.scale, "multiplies all positions, for files not in metres")
      ->type_name("X")
      ->check(above_zero(1e9));
  add_key_speeds(app, o);
}

camera::ImageSize parse_size(const std::string& text) {
  const size_t cross = text.find('x');
  if (cross == std::string::npos) fail("--size: '{}' is not of the form 768x512", text);
  const std::optional<int64_t> width = parse_int(std::string_view(text).substr(0, cross));
  const std::optional<int64_t> height = parse_int(std::string_view(text).substr(cross + 1));
  constexpr int64_t kMost = 100'000;
  if (!width || !height || *width < 1 || *height < 1 || *width > kMost || *height > kMost) {
    fail("--size: '{}' is not of the form 768x512", text);
  }
  return {static_cast<int>(*width), static_cast<int>(*height)};
}

camera::LoadedTrajectory load(const InputOptions& o) {
  camera::ReadOptions read;
  read.fov_x = camera::radians(o.fov);
  read.video_fps = o.fps;
  if (!o.size.empty()) read.size = parse_size(o.size);
  if (!o.intrinsics.empty()) read.intrinsics = o.intrinsics;
  read.world_to_camera = o.world_to_camera;
  read.actor = o.actor;
  read.keys = o.key_speeds();
  const Format* format = o.from.empty() ? nullptr : &camera::find_format(o.from);
  camera::LoadedTrajectory loaded = camera::load_trajectory(o.input, read, format);
  for (auto& [pose, lens] : loaded.trajectory.cameras) pose.position = pose.position * o.scale;
  if (read.size.known()) {
    loaded.trajectory.width = read.size.width;
    loaded.trajectory.height = read.size.height;
  }
  return loaded;
}

void warn_of_speed(const PathStatistics& s) {
  if (!s.too_fast() && !s.turns_too_fast()) return;
  log_warning(
      "the fastest step is {:.2f} m and {:.1f} degrees a latent; models are trained up to "
      "{} m and {} degrees: slow the path down",
      s.max_step, camera::degrees(s.max_step_turn), camera::kLargestStep,
      camera::degrees(camera::kLargestStepTurn));
}

std::string describe_latents(const Trajectory& path) {
  const auto latents = static_cast<int64_t>(
      path.frames_per_pose == 1 ? camera::kPathGrid.latents_in_frames(std::ssize(path.cameras))
                                : std::ssize(path.cameras));
  const int64_t padded = camera::padded_latents(latents);
  const int64_t chunks = camera::kPathGrid.chunks_in_latents(padded) - 1;
  if (padded == latents) return fmt::format("{} = 1 + 5 x {} chunks", latents, chunks);
  return fmt::format("{}; generation holds the last pose up to {} = 1 + 5 x {} chunks", latents,
                     padded, chunks);
}

std::string describe_revisits(const PathStatistics& s, double fps) {
  if (s.revisits.empty()) return "none";
  const camera::Revisit& first = s.revisits.front();
  return fmt::format("{} of {} poses; the first at {:.2f} s returns to {:.2f} s", s.revisits.size(),
                     s.poses, static_cast<double>(first.frame) / fps,
                     static_cast<double>(first.earlier) / fps);
}

void print_statistics(const InputOptions& o, const camera::LoadedTrajectory& loaded,
                      const PathStatistics& s) {
  const Trajectory& path = loaded.trajectory;
  const auto line = [](std::string_view name, const std::string& value) {
    fmt::print("  {:<14} {}\n", name, value);
  };
  const double narrow = camera::degrees(s.min_fov), wide = camera::degrees(s.max_fov);
  fmt::print("{}: {}\n", o.input, loaded.format->title);
  line("length", fmt::format("{} {}, {} video frames, {:.2f} s at {:.4g} frames a second", s.poses,
                             path.frames_per_pose == 1 ? "poses" : "latents", s.video_frames,
                             s.seconds, path.video_fps()));
  line("latents", describe_latents(path));
  line("distance",
       fmt::format("{:.2f} m, ends {:.2f} m from the start", s.distance, s.displacement));
  line("turn", fmt::format("{:.0f} degrees", camera::degrees(s.turn)));
  line("fastest", fmt::format("{:.2f} m/s, {:.1f} degrees/s (trained: {} m/s, {:.0f} degrees/s)",
                              s.max_speed, camera::degrees(s.max_turn_rate), camera::kTrainedSpeed,
                              camera::degrees(camera::kTrainedTurn)));
  line("field of view", wide - narrow < 0.005
                            ? fmt::format("{:.2f} degrees", wide)
                            : fmt::format("{:.2f} to {:.2f} degrees", narrow, wide));
  if (path.width > 0) line("images", fmt::format("{} x {}", path.width, path.height));
  line("revisits", describe_revisits(s, path.fps));
}

void print_json(const camera::LoadedTrajectory& loaded, const PathStatistics& s) {
  Json json = camera::to_json(s);
  json["format"] = loaded.format->name;
  json["poses_per_second"] = loaded.trajectory.fps;
  json["video_fps"] = loaded.trajectory.video_fps();
  json["one_pose_per_latent"] = loaded.trajectory.frames_per_pose != 1;
  if (loaded.trajectory.width > 0) {
    json["image_size"] = {loaded.trajectory.width, loaded.trajectory.height};
  }
  fmt::print("{}\n", json.dump(2));
}

// Options of every command that writes a path.
struct OutputOptions {
  std::string output;
  std::string to;
  std::optional<double> fps;
  bool latents = false;
  bool relative = false;
  bool pad = false;
};

// The path as the format takes it: at which poses, from where, how many.
Trajectory shaped_for(const Format& format, Trajectory path, const OutputOptions& o) {
  const bool loci = &format == &camera::kLociJson;
  const bool latents = o.latents || format.one_pose_per_latent;
  if (path.frames_per_pose != 1 && (!latents || o.fps)) path = camera::frame_poses(path);
  if (o.fps) path = camera::resample(path, *o.fps);
  if (o.relative || (loci && !(path.cameras.front().pose == camera::Pose{}))) {
    path.cameras = camera::relative_to_first(path.cameras);
    if (!o.relative) log_info("poses are made relative to the first, as the format demands");
  }
  if (latents) path = camera::latent_poses(path);
  if (latents && (o.pad || loci)) {
    const size_t before = path.cameras.size();
    path = camera::pad_to_chunks(path);
    if (path.cameras.size() > before) {
      log_info("the last pose is held for {} more latents, to whole chunks",
               path.cameras.size() - before);
    }
  }
  return path;
}

void save(const Trajectory& path, const Format& format, const std::string& output,
          const camera::KeySpeeds& keys) {
  camera::write_trajectory(output, path, format, {keys});
  fmt::print("{}: {}, {} {}, {:.2f} s\n", output, format.title, path.cameras.size(),
             path.frames_per_pose == 1 ? "poses" : "latents", path.seconds());
}

void add_show(CLI::App& app) {
  struct Options {
    InputOptions input;
    bool json = false;
    std::string plot;
  };
  auto o = std::make_shared<Options>();
  app.description("Describe a camera path, and draw it from above");
  add_input_options(app, o->input);
  app.add_flag("--json", o->json, "print JSON, with every revisit");
  app.add_option("--plot", o->plot, "draw a top view to this .svg or .png file")->type_name("FILE");
  app.callback([o] {
    const camera::LoadedTrajectory loaded = load(o->input);
    const PathStatistics statistics = camera::path_statistics(loaded.trajectory);
    if (!o->plot.empty()) {
      const std::string title = loaded.format == &camera::kKeyString
                                    ? o->input.input
                                    : std::filesystem::path(o->input.input).filename().string();
      camera::write_top_view(o->plot, loaded.trajectory, statistics, title);
    }
    if (o->json) {
      print_json(loaded, statistics);
    } else {
      print_statistics(o->input, loaded, statistics);
    }
    warn_of_speed(statistics);
  });
  examples(app,
           {{"loci trajectory show path.json", "length, speeds, revisits"},
            {"loci trajectory show sparse/0 --plot top.svg", "a COLMAP model, drawn from above"},
            {"loci trajectory show w-32,left-24,wd-16", "what these keys do"},
            {"loci trajectory show action.json --json", "for scripts"}});
}

void add_conversion(CLI::App& app) {
  struct Options {
    InputOptions input;
    OutputOptions output;
  };
  auto o = std::make_shared<Options>();
  app.description("Convert a camera path from any format to another");
  add_input_options(app, o->input);
  app.add_option("output", o->output.output, "file or, for colmap and npy, folder")->required();
  app.add_option("--to", o->output.to, "format of the output")
      ->required()
      ->check(CLI::IsMember(camera::format_names()));
  app.add_option("--fps", o->output.fps, "resample to this many video frames a second")
      ->type_name("N")
      ->check(above_zero(1000));
  app.add_flag("--latents", o->output.latents,
               "one pose per latent (video frames 0, 4, 8, ...) in any format");
  app.add_flag("--relative", o->output.relative, "make the first pose the identity");
  app.add_flag("--pad", o->output.pad, "hold the last pose up to 1 + 5k latents");
  app.callback([o] {
    if (o->output.pad && !o->output.latents &&
        !camera::find_format(o->output.to).one_pose_per_latent) {
      fail("--pad counts latents: give --latents too, or a format that has one pose per latent");
    }
    const Format& format = camera::find_format(o->output.to);
    const Trajectory path = shaped_for(format, load(o->input).trajectory, o->output);
    if (format.video_fps != path.video_fps() && &format == &camera::kMind) {
      log_warning("MIND files run at {} video frames a second, this path at {:.4g}: use --fps {}",
                  format.video_fps, path.video_fps(), format.video_fps);
    }
    save(path, format, o->output.output, o->input.key_speeds());
  });
  examples(app, {{"loci trajectory convert clip.txt path.json --to loci",
                  "RealEstate10K to LOCI: one pose per latent, whole chunks"},
                 {"loci trajectory convert path.json poses --to npy", "folder for LingBot-World"},
                 {"loci trajectory convert action.json cam.txt --to tum --fps 16 --relative",
                  "MIND, resampled from 24 to 16 frames a second"},
                 {"loci trajectory convert w-32,right-48 path.npz --to matrix-game", "from keys"}});
}

void add_make(CLI::App& app) {
  struct Options {
    std::string preset;
    OutputOptions output;
    camera::PresetOptions shape;
    double fov = 90;
  };
  auto o = std::make_shared<Options>();
  o->output.to = std::string(camera::kLociJson.name);
  std::vector<std::string> names;
  std::string paths = "Presets:";
  for (const camera::Preset& preset : camera::presets()) {
    names.emplace_back(preset.name);
    std::string defaults;
    if (preset.angle > 0) defaults += fmt::format("{} degrees", preset.angle);
    if (preset.distance > 0) {
      defaults += fmt::format("{}{} m", defaults.empty() ? "" : ", ", preset.distance);
    }
    paths += fmt::format("\n  {:<13} {} ({})", preset.name, preset.summary, defaults);
  }
  app.description("Make a camera path with smooth speeds");
  app.add_option("preset", o->preset, "which path")->required()->check(CLI::IsMember(names));
  app.add_option("-o,--out", o->output.output, "file or folder to write")
      ->required()
      ->type_name("FILE");
  app.add_option("--to", o->output.to, "format")
      ->check(CLI::IsMember(camera::format_names()))
      ->capture_default_str();
  app.add_option("--seconds", o->shape.seconds,
                 "length, rounded up to whole chunks; 20 s or what trained speeds need")
      ->type_name("S")
      ->check(above_zero(36000));
  app.add_option("--angle", o->shape.angle, "instead of the preset's")
      ->type_name("DEG")
      ->check(above_zero(3600));
  app.add_option("--distance", o->shape.distance, "instead of the preset's")
      ->type_name("M")
      ->check(above_zero(1000));
  app.add_option("--fps", o->shape.fps, "video frames a second")
      ->type_name("N")
      ->check(above_zero(1000))
      ->capture_default_str();
  app.add_option("--fov", o->fov, "horizontal field of view")
      ->type_name("DEG")
      ->check(above_zero(179))
      ->capture_default_str();
  app.add_flag("--latents", o->output.latents, "one pose per latent in any format");
  app.callback([o] {
    o->shape.fov_x = camera::radians(o->fov);
    const Trajectory frames = camera::make_preset(o->preset, o->shape);
    const Format& format = camera::find_format(o->output.to);
    save(shaped_for(format, frames, o->output), format, o->output.output, {});
    warn_of_speed(camera::path_statistics(frames));
  });
  examples(app, {{"loci trajectory make look_around --out path.json", "20 s for generation"},
                 {"loci trajectory make square --distance 3 --out sq --to colmap",
                  "for other tools, one pose per frame"},
                 {"loci trajectory make spin --seconds 40 --out spin.json", "slower"}});
  app.footer(paths + "\n\n" + app.get_footer());
}

}  // namespace

void add_trajectory(CLI::App& app) {
  app.description("Show, convert and make camera paths");
  add_show(*app.add_subcommand("show"));
  add_conversion(*app.add_subcommand("convert"));
  add_make(*app.add_subcommand("make"));
  examples(app, {{"loci trajectory make walk_turn --out path.json", "a path to generate along"},
                 {"loci trajectory show path.json --plot top.png", "look at it"},
                 {"loci trajectory convert path.json path.txt --to tum", "take it elsewhere"}});
}

}  // namespace loci::app
