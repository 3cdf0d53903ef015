// SPDX-License-Identifier: Apache-2.0
// loci world preview | record
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "loci/app/command.h"
#include "loci/base/error.h"
#include "loci/base/machine.h"
#include "loci/base/text.h"
#include "loci/io/image.h"
#include "loci/world/record.h"
#include "loci/world/sheet.h"

namespace loci::app {

namespace {

struct WorldCommandOptions {
  uint64_t seed = 0;
  std::string size = "192x128";
  std::optional<double> seconds;
  world::ClipOptions clip;
  std::string split = "train", style, time, weather, path = "walk";

  world::ClipOptions clip_options() const {
    world::ClipOptions o = clip;
    const size_t cross = size.find('x');
    const auto width = parse_int(std::string_view(size).substr(0, cross));
    const auto height = cross == std::string::npos
                            ? std::nullopt
                            : parse_int(std::string_view(size).substr(cross + 1));
    if (!width || !height || *width < 8 || *height < 8 || *width > 8192 || *height > 8192) {
      fail("--size: '{}' is not of the form 192x128", size);
    }
    o.width = static_cast<int>(*width);
    o.height = static_cast<int>(*height);
    // One frame more than whole latents of four, as the video codec wants it.
    if (seconds) o.frames = std::max<int64_t>(1, std::llround(*seconds * o.fps / 4) * 4 + 1);
    o.split = world::parse_split(split);
    if (!style.empty()) o.world.style = world::parse_style(style);
    if (!time.empty()) o.world.time = world::parse_time(time);
    if (!weather.empty()) o.world.weather = world::parse_weather(weather);
    if (path == "designed") {
      for (int i = 0; i < world::kDesignedPaths; ++i)
        o.designed.push_back(static_cast<world::DesignedPath>(i));
    } else if (path != "walk") {
      o.designed = {world::parse_designed_path(path)};
    }
    return o;
  }
};

void add_world_options(CLI::App& app, WorldCommandOptions& o) {
  app.add_option("--seed", o.seed, "names the dataset; the same seed gives the same bytes")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--size", o.size, "pixels")->type_name("WxH")->capture_default_str();
  app.add_option("--frames", o.clip.frames, "frames of a clip")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--seconds", o.seconds, "length of a clip instead of --frames")
      ->type_name("S")
      ->check(CLI::Range(0.1, 36000.0));
  app.add_option("--fps", o.clip.fps, "frames a second")
      ->type_name("N")
      ->check(CLI::Range(1.0, 240.0))
      ->capture_default_str();
  app.add_option("--fov", o.clip.fov, "horizontal field of view")
      ->type_name("DEG")
      ->check(CLI::Range(10.0, 300.0))
      ->capture_default_str();
  app.add_option("--xi", o.clip.xi, "fisheye of the unified camera model, 0 to 1; 0 is a pinhole")
      ->type_name("X")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--samples", o.clip.samples, "samples a pixel, twice as many at edges")
      ->type_name("N")
      ->check(CLI::Range(1, 4))
      ->capture_default_str();
  app.add_option("--split", o.split, "whose worlds")
      ->check(CLI::IsMember({"train", "test", "held-out"}))
      ->capture_default_str();
  app.add_option("--style", o.style, "one kind of world; all kinds of the split if not given")
      ->check(
          CLI::IsMember({"town", "courtyard", "forest", "desert", "interior", "ruins", "garden"}));
  app.add_option("--time", o.time, "one time of day")
      ->check(CLI::IsMember({"day", "dusk", "night"}));
  app.add_option("--weather", o.weather, "one weather")
      ->check(CLI::IsMember({"clear", "fog", "snow"}));
  app.add_option("--path", o.path, "how the camera moves; designed = all but walk, in turn")
      ->check(CLI::IsMember({"walk", "static", "straight", "spin", "look-around",
                             "look-around-pitch", "out-and-back", "square", "designed"}))
      ->capture_default_str();
  app.add_option("--revisits", o.clip.revisit_share,
                 "share of walks that come back to earlier views")
      ->type_name("P")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--clips-per-world", o.clip.clips_per_world, "clips in a row that share a world")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
}

void add_preview(CLI::App& app) {
  struct Options : WorldCommandOptions {
    std::string out = "worlds.png";
    int64_t count = 24;
    int columns = 6;
    bool clips = false;
  };
  auto o = std::make_shared<Options>();
  app.description("Render a contact sheet of worlds or clips");
  app.add_option("--out", o->out, "PNG or JPEG to write")->type_name("FILE")->capture_default_str();
  app.add_option("--count", o->count, "worlds, or clips with --clips")
      ->type_name("N")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--columns", o->columns, "pictures a row")
      ->type_name("N")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_flag("--clips", o->clips, "a row of frames for every clip");
  add_world_options(app, *o);
  examples(
      app,
      {{"loci world preview", "24 worlds in worlds.png"},
       {"loci world preview --style town --time dusk --size 384x256 --columns 4 --out towns.png",
        "towns at dusk"},
       {"loci world preview --clips --count 8 --seconds 20", "eight walks as strips"}});
  app.callback([o] {
    world::ClipOptions clip = o->clip_options();
    clip.threads = processor().threads;
    io::write_image(o->out, o->clips ? world::clip_sheet(o->seed, o->count, o->columns, clip)
                                     : world::world_sheet(o->seed, o->count, o->columns, clip));
    fmt::print("{}\n", o->out);
  });
}

// "i/n", or RANK and WORLD_SIZE of a launcher, or everything.
void set_shard(world::RecordOptions& record, const std::string& shard) {
  const auto number = [](std::string_view text, std::string_view what) {
    const auto value = parse_int(text);
    if (!value) fail("{}: '{}' is not a whole number", what, text);
    return *value;
  };
  if (!shard.empty()) {
    const size_t slash = shard.find('/');
    if (slash == std::string::npos) fail("--shard: '{}' is not of the form 0/4", shard);
    record.shard = number(std::string_view(shard).substr(0, slash), "--shard");
    record.shards = number(std::string_view(shard).substr(slash + 1), "--shard");
    return;
  }
  const char *rank = std::getenv("RANK"), *size = std::getenv("WORLD_SIZE");
  if (rank == nullptr || size == nullptr) return;
  record.shard = number(rank, "RANK");
  record.shards = number(size, "WORLD_SIZE");
}

void add_record(CLI::App& app) {
  struct Options : WorldCommandOptions {
    std::string out, shard, video = "mp4", depth = "half";
    int64_t count = 16, clips_per_tar = 64;
    bool tar = false;
    int workers = 0;
  };
  auto o = std::make_shared<Options>();
  app.description(
      "Record walks through procedural worlds: video, poses, depth, captions, revisits");
  app.add_option("out", o->out, "folder of the dataset")->required();
  app.add_option("--count", o->count, "clips of the whole dataset")
      ->type_name("N")
      ->check(CLI::Range(1, 100000000))
      ->capture_default_str();
  app.add_option("--video", o->video,
                 "mp4 (H.264), lossless (H.264 in RGB) or png (a folder of frames)")
      ->check(CLI::IsMember({"mp4", "lossless", "png"}))
      ->capture_default_str();
  app.add_option("--depth", o->depth, "depth.npy as 16 or 32 bits, or none")
      ->check(CLI::IsMember({"none", "half", "float"}))
      ->capture_default_str();
  app.add_flag("--tar", o->tar, "WebDataset tar files instead of folders");
  app.add_option("--clips-per-tar", o->clips_per_tar, "with --tar")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--shard", o->shard,
                 "record part i of n only, e.g. 0/4; default RANK and WORLD_SIZE")
      ->type_name("I/N");
  app.add_option("--workers", o->workers, "rendering threads; all cores if not given")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  add_world_options(app, *o);
  examples(app,
           {{"loci world record data --count 100 --seconds 20", "100 walks of 20 s in data/clips"},
            {"loci world record data --count 100000 --tar --shard 3/16",
             "one part of sixteen, as tar files"},
            {"loci world record long --count 4 --seconds 300 --split test",
             "walks of 5 minutes through unseen worlds"},
            {"loci world record setc --count 28 --path designed --seconds 20 --split test",
             "designed paths"}});
  app.callback([o] {
    world::RecordOptions record;
    record.seed = o->seed;
    record.count = o->count;
    record.clip = o->clip_options();
    record.video = world::parse_video(o->video);
    record.depth = world::parse_depth(o->depth);
    record.tar = o->tar;
    record.clips_per_tar = o->clips_per_tar;
    record.workers = o->workers > 0 ? o->workers : processor().threads;
    set_shard(record, o->shard);
    world::record(o->out, record);
    fmt::print("{}\n", o->out);
  });
}

}  // namespace

void add_world(CLI::App& app) {
  app.description("Procedural worlds: contact sheets and recordings with exact poses and depth");
  add_preview(*app.add_subcommand("preview"));
  add_record(*app.add_subcommand("record"));
  examples(app, {{"loci world preview", "look at 24 worlds"},
                 {"loci world record data --count 100 --seconds 20", "make a dataset"}});
}

}  // namespace loci::app
