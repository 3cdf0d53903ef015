// SPDX-License-Identifier: Apache-2.0
#include "loci/app/world/world_encode.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "loci/app/cli/command.h"
#include "loci/app/world/world_options.h"
#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/jobs.h"
#include "loci/base/output_path.h"
#include "loci/base/progress.h"
#include "loci/base/random.h"
#include "loci/camera/time_grid.h"
#include "loci/model/autoencoder/vae.h"
#include "loci/train/data/encode_clip.h"
#include "loci/world/recording/manifest.h"
#include "loci/world/recording/recording.h"

namespace loci::app {

namespace fs = std::filesystem;

namespace {

constexpr int kFormatVersion = 1;

struct EncodeOptions : WorldCommandOptions {
  std::string vae, out, from, shard;
  std::optional<int64_t> count;
  int workers = 0;
};

// Renders or reads one clip. Each worker has its own.
using MakeClip = std::function<world::Clip(int64_t index)>;

struct Source {
  std::function<MakeClip()> open;
  int64_t clips = 0;  // in the whole dataset
  int64_t group = 1;  // consecutive clips that one worker processes
  Json manifest;
};

Source world_source(const EncodeOptions& options, const world::ClipOptions& clip) {
  Source source;
  source.clips = options.count.value_or(16);
  source.group = clip.clips_per_scene;
  source.manifest = world::describe(clip);
  source.manifest["seed"] = options.seed;
  source.open = [seed = options.seed, clip]() -> MakeClip {
    return [maker = std::make_shared<world::ClipMaker>(clip), seed](int64_t index) {
      return maker->make(seed, index);
    };
  };
  return source;
}

Source recording_source(const EncodeOptions& options, const world::ClipOptions& clip) {
  world::RecordingOptions recording;
  recording.frames = clip.frames;
  recording.width = clip.width;
  recording.height = clip.height;
  recording.fps = clip.fps;
  recording.fov = clip.fov;
  const auto pieces = std::make_shared<const world::RecordingPieces>(options.from, recording);
  Source source;
  source.clips = std::min(options.count.value_or(pieces->count()), pieces->count());
  // More recordings would change the clips' numbers.
  source.manifest = {{"pieces", pieces->count()}, {"frames", clip.frames}, {"width", clip.width},
                     {"height", clip.height},     {"fps", clip.fps},       {"fov", clip.fov}};
  source.open = [pieces]() -> MakeClip {
    return [pieces](int64_t index) { return pieces->read(index); };
  };
  return source;
}

// Names the weights: latents of another autoencoder must not end up in the same folder.
std::string fingerprint(const model::Vae& vae) {
  uint64_t hash = 0;
  const auto add = [&](const void* data, size_t size) {
    const char* bytes = static_cast<const char*>(data);
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, bytes + at, std::min(sizeof(word), size - at));
      hash = hash_keys({hash, word});
    }
  };
  const std::string config = vae.config().to_json().dump();
  add(config.data(), config.size());
  for (const model::Parameter& parameter : vae.parameters().all()) {
    const at::Tensor values = parameter.tensor.detach().contiguous();
    add(values.data_ptr(), values.nbytes());
  }
  return fmt::format("{:016x}", hash);
}

// Groups of clips of this shard that are not on disk yet.
struct Work {
  std::vector<std::vector<int64_t>> groups;
  uint64_t clips = 0, done = 0;
};

Work find_work(const Source& source, const Shard& part,
               const std::function<fs::path(int64_t)>& place) {
  Work work;
  for (int64_t group = part.index; group * source.group < source.clips; group += part.count) {
    std::vector<int64_t> missing;
    const int64_t end = std::min((group + 1) * source.group, source.clips);
    for (int64_t i = group * source.group; i < end; ++i) {
      ++work.clips;
      if (fs::exists(place(i))) {
        ++work.done;
      } else {
        missing.push_back(i);
      }
    }
    if (!missing.empty()) work.groups.push_back(std::move(missing));
  }
  return work;
}

// Each clip is encoded on one thread, so that its bytes do not depend on the number of workers or
// threads.
void encode_groups(const Work& work, int workers, const Source& source, const model::Vae& vae,
                   const std::function<fs::path(int64_t)>& place) {
  Progress progress("encoding", work.clips, "clips", work.done);
  const int threads = at::get_num_threads();
  run_jobs(work.groups.size(), workers, [&] {
    at::set_num_threads(1);  // in this worker
    return [&, make = source.open()](size_t group) {
      for (const int64_t index : work.groups[group]) {
        check_interrupt();
        train::write_latent_clip(place(index), train::encode_clip(vae, make(index)));
        progress.advance();
      }
    };
  });
  at::set_num_threads(threads);
}

void encode(const EncodeOptions& options) {
  const world::ClipOptions clip = options.clip_options();
  const Shard part = parse_shard(options.shard);
  const model::Vae vae = model::Vae::load(options.vae);
  vae.config().check_frame_size(clip.height, clip.width);
  const camera::TimeGrid grid{vae.config().temporal_factor()};
  if (!grid.whole_latents(clip.frames)) {
    const int64_t latents = grid.latents_in_frames(std::max<int64_t>(1, clip.frames));
    fail("--frames: {} frames do not fill whole latents; use {} or {}", clip.frames,
         grid.frames_in_latents(latents), grid.frames_in_latents(latents + 1));
  }
  Source source =
      options.from.empty() ? world_source(options, clip) : recording_source(options, clip);
  source.manifest.update(
      {{"format", "loci-latents"}, {"version", kFormatVersion}, {"vae", fingerprint(vae)}});
  source.open();  // rejects invalid options before anything is written
  const fs::path folder = options.out;
  make_folders(folder);
  world::keep_manifest(folder, source.manifest);
  const auto place = [&](int64_t index) {
    return folder / fmt::format("{:06}.safetensors", index);
  };
  const Work work = find_work(source, part, place);
  encode_groups(work, options.workers > 0 ? options.workers : at::get_num_threads(), source, vae,
                place);
  fmt::print("{}\n", options.out);
}

}  // namespace

void add_world_encode(CLI::App& app) {
  auto o = std::make_shared<EncodeOptions>();
  app.description("Encode procedural clips or recordings to latents on disk for training");
  app.add_option("--vae", o->vae, "folder or file of the autoencoder")->required();
  app.add_option("--out", o->out, "folder of the latents, one file per clip")->required();
  app.add_option("--from", o->from,
                 "folder of recordings, cut into clips (default: render procedural scenes)")
      ->type_name("DIR");
  app.add_option("--count", o->count,
                 "number of clips in the whole dataset (default: 16, or all with --from)")
      ->type_name("N")
      ->check(CLI::Range(1, 100000000));
  add_shard_option(app, o->shard);
  app.add_option("--workers", o->workers,
                 "number of clips processed at once, one thread each (default: all cores)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  add_world_options(app, *o);
  examples(app,
           {{"loci world encode --vae models/mini/vae --out latents --count 1000 --seconds 20",
             "1,000 clips of 81 latents"},
            {"loci world encode --vae models/mini/vae --out mine --from recordings --frames 161",
             "your own recordings in clips of 41 latents"},
            {"torchrun --no-python --nproc-per-node 8 loci world encode --vae models/mini/vae "
             "--out latents --count 100000 --workers 1",
             "distributed over eight processes"}});
  app.callback([o] { encode(*o); });
}

}  // namespace loci::app
