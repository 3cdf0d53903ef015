// SPDX-License-Identifier: Apache-2.0
// loci trajectory show | convert | make
#include <filesystem>
#include <optional>

#include "loci/app/cli/command.h"
#include "loci/base/error.h"
#include "loci/base/log.h"
#include "loci/base/pixel_size.h"
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

// Options of all subcommands that read a trajectory.
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
  double turn_speed = 30;  // degrees per second

  camera::KeySpeeds key_speeds() const {
    return {.move = move_speed, .turn = camera::radians(turn_speed)};
  }
};

CLI::Validator above_zero(double largest) {
  return CLI::Validator(
      [largest](std::string& text) -> std::string {
        const std::optional<double> value = parse_double(text);
        if (value && *value > 0 && *value <= largest) return {};
        return fmt::format("'{}' is out of range; expected a number above 0 and at most {}", text,
                           largest);
      },
      "");
}

void add_fov(CLI::App& app, double& fov) {
  app.add_option("--fov", fov, "horizontal field of view in degrees for files without lenses")
      ->type_name("DEG")
      ->check(above_zero(179))
      ->capture_default_str();
}

void add_key_speeds(CLI::App& app, InputOptions& o) {
  app.add_option("--move-speed", o.move_speed, "speed of the movement keys in m/s")
      ->type_name("M/S")
      ->check(above_zero(1000))
      ->capture_default_str();
  app.add_option("--turn-speed", o.turn_speed, "speed of the rotation keys in degrees/s")
      ->type_name("DEG/S")
      ->check(above_zero(3600))
      ->capture_default_str();
}

void add_input_options(CLI::App& app, InputOptions& o) {
  app.add_option("input", o.input, "file, folder, or key string such as w-32,left-16")->required();
  app.add_option("--from", o.from, "format of the input (default: detected from the content)")
      ->check(one_of(camera::format_names()));
  add_fov(app, o.fov);
  app.add_option("--input-fps", o.fps, "video frames per second for files without timestamps")
      ->type_name("N")
      ->check(above_zero(1000));
  app.add_option("--size", o.size, "image size in pixels (default: 2 cx by 2 cy of the lens)")
      ->type_name("WxH");
  app.add_option(
         "--intrinsics", o.intrinsics,
         "file with the lenses of a .npy file of poses (default: intrinsics.npy in its folder)")
      ->type_name("FILE");
  app.add_flag("--w2c", o.world_to_camera, "matrices of .npy and .npz files are world-to-camera");
  app.add_flag("--actor", o.actor, "MIND: use the poses of the character instead of the camera");
  app.add_option("--scale", o.scale, "factor for all positions, for files that are not in metres")
      ->type_name("X")
      ->check(above_zero(1e9));
  add_key_speeds(app, o);
}

camera::LoadedTrajectory load(const InputOptions& o) {
  camera::ReadOptions read;
  read.fov_x = camera::radians(o.fov);
  read.video_fps = o.fps;
  if (!o.size.empty()) {
    const PixelSize size = parse_pixel_size(o.size, "--size", {.most = 100'000});
    read.size = {static_cast<int>(size.width), static_cast<int>(size.height)};
  }
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
      "the fastest step is {:.2f} m and {:.1f} degrees per latent, but models are trained with at "
      "most {} m and {} degrees; use a slower trajectory",
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
  return fmt::format("{}; generation repeats the last camera up to {} = 1 + 5 x {} chunks", latents,
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
  line("length", fmt::format("{} {}, {} video frames, {:.2f} s at {:.4g} frames per second",
                             s.poses, path.frames_per_pose == 1 ? "poses" : "latents",
                             s.video_frames, s.seconds, path.video_fps()));
  line("latents", describe_latents(path));
  line("distance",
       fmt::format("{:.2f} m; end is {:.2f} m from the start", s.distance, s.displacement));
  line("rotation", fmt::format("{:.0f} degrees", camera::degrees(s.turn)));
  line("fastest",
       fmt::format("{:.2f} m/s, {:.1f} degrees/s (trained up to {} m/s, {:.0f} degrees/s)",
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

// Options of all subcommands that write a trajectory.
struct OutputOptions {
  std::string output;
  std::string to;
  std::optional<double> fps;
  bool latents = false;
  bool relative = false;
  bool pad = false;
};

// Adapts the trajectory to the format: frame rate, one pose per latent, origin, padding.
Trajectory shaped_for(const Format& format, Trajectory path, const OutputOptions& o) {
  const bool loci = &format == &camera::kLociJson;
  const bool latents = o.latents || format.one_pose_per_latent;
  if (path.frames_per_pose != 1 && (!latents || o.fps)) path = camera::frame_poses(path);
  if (o.fps) path = camera::resample(path, *o.fps);
  if (o.relative || (loci && !(path.cameras.front().pose == camera::Pose{}))) {
    path.cameras = camera::relative_to_first(path.cameras);
    if (!o.relative) {
      log_info("converted the poses to be relative to the first, as the format requires");
    }
  }
  if (latents) path = camera::latent_poses(path);
  if (latents && (o.pad || loci)) {
    const size_t before = path.cameras.size();
    path = camera::pad_to_chunks(path);
    if (path.cameras.size() > before) {
      log_info("repeated the last camera for {} more latents to fill the last chunk",
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
  app.description("Print statistics of a camera trajectory, and optionally draw a top view");
  add_input_options(app, o->input);
  app.add_flag("--json", o->json, "print JSON with every revisit");
  app.add_option("--plot", o->plot, "write a top view to this .svg or .png file")
      ->type_name("FILE");
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
            {"loci trajectory show sparse/0 --plot top.svg", "a COLMAP model, with a top view"},
            {"loci trajectory show w-32,left-24,wd-16", "the trajectory of a key string"},
            {"loci trajectory show action.json --json", "print JSON"}});
}

void add_conversion(CLI::App& app) {
  struct Options {
    InputOptions input;
    OutputOptions output;
  };
  auto o = std::make_shared<Options>();
  app.description("Convert a camera trajectory to another format");
  add_input_options(app, o->input);
  app.add_option("output", o->output.output, "file to write; for colmap and npy a folder")
      ->required();
  app.add_option("--to", o->output.to, "format of the output")
      ->required()
      ->check(one_of(camera::format_names()));
  app.add_option("--fps", o->output.fps, "resample to this number of video frames per second")
      ->type_name("N")
      ->check(above_zero(1000));
  app.add_flag("--latents", o->output.latents,
               "write one pose per latent (video frames 0, 4, 8, ...) in any format");
  app.add_flag("--relative", o->output.relative,
               "transform all poses so that the first is the identity");
  app.add_flag("--pad", o->output.pad,
               "repeat the last camera up to 1 + 5k latents (whole chunks)");
  app.callback([o] {
    if (o->output.pad && !o->output.latents &&
        !camera::find_format(o->output.to).one_pose_per_latent) {
      fail("--pad needs one pose per latent; also give --latents, or use --to loci");
    }
    const Format& format = camera::find_format(o->output.to);
    const Trajectory path = shaped_for(format, load(o->input).trajectory, o->output);
    if (format.video_fps != path.video_fps() && &format == &camera::kMind) {
      log_warning(
          "MIND files have {} video frames per second, this trajectory has {:.4g}; use --fps {}",
          format.video_fps, path.video_fps(), format.video_fps);
    }
    save(path, format, o->output.output, o->input.key_speeds());
  });
  examples(app, {{"loci trajectory convert clip.txt path.json --to loci",
                  "RealEstate10K to LOCI: one pose per latent, whole chunks"},
                 {"loci trajectory convert path.json poses --to npy", "a folder for LingBot-World"},
                 {"loci trajectory convert action.json cam.txt --to tum --fps 16 --relative",
                  "MIND, resampled from 24 to 16 frames per second"},
                 {"loci trajectory convert w-32,right-48 path.npz --to matrix-game",
                  "from a key string"}});
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
  app.description("Create a camera trajectory with smooth speeds from a preset");
  app.add_option("preset", o->preset, "shape of the trajectory")->required()->check(one_of(names));
  app.add_option("-o,--out", o->output.output, "file or folder to write")
      ->required()
      ->type_name("FILE");
  app.add_option("--to", o->output.to, "format of the output")
      ->check(one_of(camera::format_names()))
      ->capture_default_str();
  app.add_option(
         "--seconds", o->shape.seconds,
         "length in seconds, rounded up to whole chunks (default: 20, or longer if the trained "
         "speeds require it)")
      ->type_name("S")
      ->check(above_zero(36000));
  app.add_option("--angle", o->shape.angle, "angle in degrees (default: the preset's)")
      ->type_name("DEG")
      ->check(above_zero(3600));
  app.add_option("--distance", o->shape.distance, "distance in metres (default: the preset's)")
      ->type_name("M")
      ->check(above_zero(1000));
  app.add_option("--fps", o->shape.fps, "video frames per second")
      ->type_name("N")
      ->check(above_zero(1000))
      ->capture_default_str();
  app.add_option("--fov", o->fov, "horizontal field of view in degrees")
      ->type_name("DEG")
      ->check(above_zero(179))
      ->capture_default_str();
  app.add_flag("--latents", o->output.latents, "write one pose per latent in any format");
  app.callback([o] {
    o->shape.fov_x = camera::radians(o->fov);
    const Trajectory frames = camera::make_preset(o->preset, o->shape);
    const Format& format = camera::find_format(o->output.to);
    save(shaped_for(format, frames, o->output), format, o->output.output, {});
    warn_of_speed(camera::path_statistics(frames));
  });
  examples(app,
           {{"loci trajectory make look_around --out path.json", "20 s, ready for loci generate"},
            {"loci trajectory make square --distance 3 --out sq --to colmap",
             "one pose per frame, for other tools"},
            {"loci trajectory make spin --seconds 40 --out spin.json", "a slow turn of 40 s"}});
  app.footer(paths + "\n\n" + app.get_footer());
}

}  // namespace

void add_trajectory(CLI::App& app) {
  app.description("Show, convert and create camera trajectories");
  add_show(*app.add_subcommand("show"));
  add_conversion(*app.add_subcommand("convert"));
  add_make(*app.add_subcommand("make"));
  examples(
      app,
      {{"loci trajectory make walk_turn --out path.json", "create a trajectory for loci generate"},
       {"loci trajectory show path.json --plot top.png", "print statistics and draw a top view"},
       {"loci trajectory convert path.json path.txt --to tum", "convert it for another tool"}});
}

}  // namespace loci::app
