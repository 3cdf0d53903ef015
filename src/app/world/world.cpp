// SPDX-License-Identifier: Apache-2.0
// loci world sheet | record | encode | stats
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "loci/app/cli/command.h"
#include "loci/app/world/world_encode.h"
#include "loci/app/world/world_options.h"
#include "loci/app/world/world_stats.h"
#include "loci/base/error.h"
#include "loci/base/machine.h"
#include "loci/base/text.h"
#include "loci/io/media/image.h"
#include "loci/world/clip/record.h"
#include "loci/world/clip/sheet.h"

namespace loci::app {

namespace {

void add_sheet(CLI::App& app) {
  struct Options : WorldCommandOptions {
    std::string out = "worlds.png";
    int64_t count = 24;
    int columns = 6;
    bool clips = false;
  };
  auto o = std::make_shared<Options>();
  app.description("Render a contact sheet of procedural scenes or clips");
  app.add_option("--out", o->out, "PNG or JPEG file to write")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_option("--count", o->count, "number of scenes, or of clips with --clips")
      ->type_name("N")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--columns", o->columns, "pictures per row")
      ->type_name("N")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_flag("--clips", o->clips, "show a row of frames for each clip");
  add_world_options(app, *o);
  examples(
      app,
      {{"loci world sheet", "24 scenes in worlds.png"},
       {"loci world sheet --style town --time dusk --size 384x256 --columns 4 --out towns.png",
        "towns at dusk"},
       {"loci world sheet --for models/mini", "scenes of a model's family"},
       {"loci world sheet --clips --count 8 --seconds 20",
        "eight clips, one row of frames each"}});
  app.callback([o] {
    world::ClipOptions clip = o->clip_options();
    clip.threads = processor().threads;
    io::write_image(o->out, o->clips ? world::clip_sheet(o->seed, o->count, o->columns, clip)
                                     : world::scene_sheet(o->seed, o->count, o->columns, clip));
    fmt::print("{}\n", o->out);
  });
}

void add_record(CLI::App& app) {
  struct Options : WorldCommandOptions {
    std::string out, shard, video = "mp4", depth = "half";
    int64_t count = 16, clips_per_tar = 64;
    bool tar = false;
    int workers = 0;
  };
  auto o = std::make_shared<Options>();
  app.description("Record clips of procedural scenes: video, cameras, depth, captions, revisits");
  app.add_option("out", o->out, "folder of the dataset")->required();
  app.add_option("--count", o->count, "number of clips in the whole dataset")
      ->type_name("N")
      ->check(CLI::Range(1, 100000000))
      ->capture_default_str();
  app.add_option("--video", o->video,
                 "video format: mp4 (H.264), lossless (H.264 in RGB) or png (a folder of frames)")
      ->check(one_of({"mp4", "lossless", "png"}))
      ->capture_default_str();
  app.add_option("--depth", o->depth,
                 "format of depth.npy: half (16 bits), float (32 bits) or none")
      ->check(one_of({"none", "half", "float"}))
      ->capture_default_str();
  app.add_flag("--tar", o->tar, "write WebDataset tar files instead of folders");
  app.add_option("--clips-per-tar", o->clips_per_tar, "number of clips per tar file with --tar")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  add_shard_option(app, o->shard);
  app.add_option("--workers", o->workers, "number of rendering threads (default: all cores)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  add_world_options(app, *o);
  examples(
      app,
      {{"loci world record data --count 100 --seconds 20", "100 clips of 20 s in data/clips"},
       {"loci world record data --count 100000 --tar --shard 3/16", "shard 3 of 16, as tar files"},
       {"loci world record long --count 4 --seconds 300 --split test",
        "clips of 5 minutes in scenes of the test split"},
       {"loci world record setc --count 28 --path designed --seconds 20 --split test",
        "clips along designed trajectories"}});
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
    const Shard part = parse_shard(o->shard);
    record.shard = part.index;
    record.shards = part.count;
    world::record(o->out, record);
    fmt::print("{}\n", o->out);
  });
}

}  // namespace

void add_world(CLI::App& app) {
  app.description(
      "Render procedural scenes: contact sheets, recordings with exact cameras and depth, latents");
  add_sheet(*app.add_subcommand("sheet")->alias("preview"));
  add_record(*app.add_subcommand("record"));
  add_world_encode(*app.add_subcommand("encode"));
  add_world_stats(*app.add_subcommand("stats"));
  examples(app, {{"loci world sheet", "a contact sheet of 24 scenes"},
                 {"loci world record data --count 100 --seconds 20", "record a dataset"}});
}

}  // namespace loci::app
