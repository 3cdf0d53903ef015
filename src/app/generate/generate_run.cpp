// SPDX-License-Identifier: Apache-2.0
// The run of `loci generate`.
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include "loci/app/generate/generate.h"
#include "loci/app/generate/generate_output.h"
#include "loci/app/generate/generate_path.h"
#include "loci/app/tools/models.h"
#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/base/machine.h"
#include "loci/base/pixel_size.h"
#include "loci/base/progress.h"
#include "loci/base/text.h"
#include "loci/camera/path/resample.h"
#include "loci/io/media/image.h"
#include "loci/io/media/resize.h"
#include "loci/sample/model_folder.h"
#include "loci/sample/open_stream.h"
#include "loci/sample/recording_encoder.h"
#include "loci/sample/stream/latent_log.h"
#include "loci/sample/stream/stream.h"
#include "loci/world/recording/recording.h"

namespace loci::app {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

void check(const GenerateOptions& o) {
  const int sources = !o.image.empty() + !o.context.empty() + !o.load_world.empty();
  if (sources != 1) {
    fail("{} of --image, --context and --load-world are given; give exactly one", sources);
  }
  if (o.trajectory.empty() && o.context.empty()) {
    fail(
        "--trajectory is missing; give a file, a preset such as look_around, or a key string such "
        "as w-32");
  }
  if (o.context.empty() && (o.context_seconds || o.keep_context)) {
    fail("--context-seconds and --keep-context require --context");
  }
  if (o.load_world.empty()) return;
  const std::pair<const char*, bool> fixed[] = {{"--history", o.history.has_value()},
                                                {"--history-frames", o.history_frames.has_value()},
                                                {"--archive", o.archive.has_value()},
                                                {"--kv", o.kv.has_value()},
                                                {"--guidance", o.guidance.has_value()},
                                                {"--seed", o.seed.has_value()},
                                                {"--size", !o.size.empty()},
                                                {"--staging", o.staging_mib.has_value()},
                                                {"--tile", o.tile.has_value()}};
  for (const auto& [name, given] : fixed) {
    if (given) fail("{} cannot be combined with --load-world: the saved world defines it", name);
  }
}

sample::StreamOverrides overrides_of(const GenerateOptions& o) {
  sample::StreamOverrides overrides;
  if (!o.size.empty()) overrides.size = parse_pixel_size(o.size, "--size");
  overrides.history = o.history;
  overrides.history_frames = o.history_frames;
  overrides.archive = o.archive;
  overrides.kv = o.kv;
  if (o.staging_mib) overrides.staging_bytes = *o.staging_mib << 20;
  overrides.solver = o.solver;
  overrides.steps = o.steps;
  overrides.shift = o.shift;
  overrides.guidance = o.guidance;
  overrides.seed = o.seed;
  overrides.tile = o.tile;
  return overrides;
}

// A stream before its first chunk, and the source of its context.
struct Run {
  std::unique_ptr<sample::ModelFolder> folder;
  std::unique_ptr<sample::Stream> stream;
  std::unique_ptr<world::Recording> recording;  // with --context
  PixelSize size;
  double fps = 16;
  int64_t context = 0;               // latents
  std::vector<camera::Camera> path;  // of the chunks to generate, one per latent
  int64_t first_given = 0;           // given() before the run

  camera::TimeGrid grid() const {
    return stream->time_grid(folder->vae().config().temporal_factor());
  }
  int64_t chunk_size() const { return stream->chunk_size(); }
  double chunk_seconds() const { return static_cast<double>(grid().frames_per_chunk()) / fps; }
  // Latents of the first chunk of the path that are given already.
  int64_t given() const {
    const int64_t before = recording != nullptr ? context : std::max<int64_t>(1, stream->frames());
    return grid().given_in_chunk && before == 1 ? 1 : 0;
  }
  int64_t chunks() const {
    return (static_cast<int64_t>(path.size()) + first_given) / chunk_size();
  }
  std::span<const camera::Camera> chunk(int64_t index) const {
    const int64_t begin = std::max<int64_t>(0, index * chunk_size() - first_given);
    const int64_t end = (index + 1) * chunk_size() - first_given;
    return std::span(path).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  }
};

void open_context(Run& run, const GenerateOptions& o) {
  const std::vector<world::RecordingFiles> found = world::find_recordings(o.context);
  if (found.size() != 1) {
    fail("--context: {} has {} recordings; expected a folder with exactly one", o.context,
         found.size());
  }
  world::RecordingOptions options;
  options.width = static_cast<int>(run.size.width);
  options.height = static_cast<int>(run.size.height);
  options.fps = run.fps;
  options.fov = o.fov.value_or(run.folder->defaults().fov);
  run.recording = std::make_unique<world::Recording>(found.front(), options);
  const int64_t frames = run.recording->frame_count();
  const double wanted =
      o.context_seconds ? *o.context_seconds * run.fps : static_cast<double>(frames - 1) / 2;
  const camera::TimeGrid grid = run.grid();
  const int64_t context = 1 + std::min(static_cast<int64_t>(wanted), frames - 1);
  run.context = grid.latents_in_chunks(grid.chunks_in_frames(context));
}

// Cameras of the recording from latent `first` on, one per latent.
std::vector<camera::Camera> recorded_path(const Run& run, int64_t first) {
  std::vector<camera::Camera> path =
      camera::latent_cameras(run.recording->trajectory().cameras, run.grid());
  path.erase(path.begin(), path.begin() + std::min<int64_t>(first, std::ssize(path)));
  return path;
}

// Number of cameras in the fewest whole chunks that cover `seconds`, or `available` cameras.
size_t wanted_poses(const Run& run, const std::optional<double>& seconds, size_t available) {
  const auto size = static_cast<double>(run.chunk_size());
  const auto given = static_cast<double>(run.first_given);
  const double chunks =
      (seconds ? *seconds / run.chunk_seconds() : static_cast<double>(available) / size) +
      given / size;
  // The tolerance keeps rounding errors from adding a chunk.
  return static_cast<size_t>(std::max(1.0, std::ceil(chunks - 1e-6)) * size - given);
}

void plan_path(Run& run, const GenerateOptions& o, const camera::Pose& from) {
  run.first_given = run.given();
  if (o.trajectory.empty()) {
    const std::vector<camera::Camera> rest = recorded_path(run, run.context);
    const auto given = static_cast<size_t>(run.first_given);
    const size_t chunks = (rest.size() + given) / run.chunk_size();
    const size_t whole = chunks == 0 ? 0 : chunks * run.chunk_size() - given;
    size_t count = whole;
    if (o.seconds) count = std::min(whole, wanted_poses(run, o.seconds, whole));
    if (count == 0) {
      fail(
          "{} has no whole chunk after {} latents of context; give --trajectory or a shorter "
          "--context-seconds",
          o.context, run.context);
    }
    run.path.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(count));
    return;
  }
  const std::vector<camera::Camera> path = read_latent_path(
      o.trajectory, run.fps, run.grid(), o.fov.value_or(run.folder->defaults().fov), o.seconds);
  const size_t count = wanted_poses(run, o.seconds, path.size() - 1);
  if (count > path.size() - 1) {
    log_info("the last camera of the trajectory is repeated for {} more latents",
             count - (path.size() - 1));
  }
  run.path = continued(path, from, count);
}

Run open_run(const GenerateOptions& o) {
  Run run;
  run.folder = std::make_unique<sample::ModelFolder>(
      find_model(o.model), o.dtype == "bf16" ? at::kBFloat16 : at::kFloat, o.decoder);
  run.fps = run.folder->defaults().fps;
  // Embed the prompts first: the text encoder may be larger than all other weights, and it is freed
  // before they are loaded.
  std::optional<sample::Prompt> prompt;
  if (o.load_world.empty()) {
    prompt = run.folder->prompt(o.prompt.value_or(""), o.negative.value_or(""));
  } else if (o.prompt || o.negative) {
    const sample::WorldInfo before = sample::read_world(o.load_world);
    prompt =
        run.folder->prompt(o.prompt.value_or(before.prompt), o.negative.value_or(before.negative));
  }
  const sample::StreamOverrides overrides = overrides_of(o);
  camera::Pose from;
  if (!o.load_world.empty()) {
    run.stream = std::make_unique<sample::Stream>(sample::Stream::load(
        o.load_world, run.folder->transformer(), &run.folder->vae(), run.folder->hashes()));
    run.stream->set_solver(overrides.apply(run.stream->options().solver));
    if (prompt) run.stream->set_prompt(*prompt);
    from = run.stream->last_camera().pose;
  } else {
    run.stream =
        std::make_unique<sample::Stream>(sample::open_stream(*run.folder, overrides, *prompt));
  }
  const int64_t factor = run.folder->vae().config().spatial_factor();
  run.size = {run.stream->options().latent_width * factor,
              run.stream->options().latent_height * factor};
  if (o.readout) run.stream->set_readout(sample::parse_readout(*o.readout), o.seed.value_or(0));
  if (!o.context.empty()) {
    open_context(run, o);
    from = recorded_path(run, run.context - 1).front().pose;
  }
  plan_path(run, o, from);
  return run;
}

// All inputs of the run, without its results.
Json describe(const Run& run, const GenerateOptions& o) {
  Json poses = Json::array(), lenses = Json::array();
  for (const auto& [pose, lens] : run.path) {
    Json row = pose.rotation.m;
    for (const double x : {pose.position.x, pose.position.y, pose.position.z}) row.push_back(x);
    poses.push_back(std::move(row));
    lenses.push_back({lens.fov_x, lens.xi});
  }
  return {{"program", "loci " LOCI_VERSION},
          {"model", o.model},
          {"config", run.folder->transformer().config().to_json()},
          {"weights", run.folder->hashes().transformer},
          {"autoencoder", run.folder->hashes().autoencoder},
          {"decoder", run.folder->hashes().decoder},
          {"image", o.image},
          {"context", o.context},
          {"context_latents", run.context},
          {"load_world", o.load_world},
          {"first_latent", run.stream->frames()},
          {"prompt", run.stream->prompt().text},
          {"negative", run.stream->prompt().negative},
          {"readout", sample::name_of(run.stream->readout())},
          {"options", run.stream->options().to_json()},
          {"trajectory", o.trajectory},
          {"poses", poses},
          {"lenses", lenses},
          {"fps", run.fps},
          {"size", {run.size.width, run.size.height}},
          {"dtype", o.dtype},
          {"keep_context", o.keep_context},
          {"threads", at::get_num_threads()}};
}

at::Tensor first_image(const Run& run, const std::string& file) {
  const io::FittedImage fitted =
      io::resize_and_crop(io::read_image(file), run.size.width, run.size.height);
  if (!fitted.note.empty()) log_info("{}: {}", file, fitted.note);
  return fitted.image;
}

// Gives the stream its first frame or its recorded context.
void begin(Run& run, const GenerateOptions& o, sample::LatentLog& log, GenerateOutput& output) {
  if (!o.image.empty()) {
    const camera::Camera origin{camera::Pose(), run.path.front().lens};
    if (log.size() > 0) {
      output.add(run.stream->accept(log.read(0), std::span(&origin, 1)).frames);
    } else {
      const sample::Chunk chunk = run.stream->accept_image(first_image(run, o.image), origin);
      log.add(chunk.latents);
      output.add(chunk.frames);
    }
  }
  if (run.recording == nullptr) return;
  const std::vector<camera::Camera> path = recorded_path(run, 0);
  Progress progress("context", static_cast<uint64_t>(run.context), "latents");
  sample::RecordingEncoder(run.folder->vae(), run.stream->options().tiling)
      .accept_all(
          *run.stream, std::span(path).first(static_cast<size_t>(run.context)),
          [&](int64_t first, int64_t count) { return run.recording->read(first, count).frames; },
          [&](const sample::Chunk& chunk) {
            if (o.keep_context) output.add(chunk.frames);
            progress.advance(static_cast<uint64_t>(chunk.latents.size(2)));
          });
}

std::string memory_note(double seconds) {
  return fmt::format("{:.2f} s per chunk, {}", seconds,
                     format_bytes(process_memory().value_or(ProcessMemory()).now));
}

}  // namespace

void generate(const GenerateOptions& o) {
  check(o);
  fs::path out = o.out;
  if (!out.has_filename()) out = out.parent_path();  // "name/" means "name"
  const fs::path latents = fs::path(out).replace_extension(".latents");
  // Locked before the model is loaded: two models may not fit into memory.
  sample::LatentLog log(latents, o.resume);
  Run run = open_run(o);
  const Json description = describe(run, o);
  log.set_run(description);
  GenerateOutput output(out, run.size.width, run.size.height, run.fps, o.preview);
  begin(run, o, log, output);

  // The log begins with the latent of the first image.
  const int64_t before = o.image.empty() ? 0 : 1;
  const int64_t done = std::min(log.size() - before, run.chunks());
  Json chunks = Json::array();
  Progress progress("generate", static_cast<uint64_t>(run.chunks()), "chunks",
                    static_cast<uint64_t>(done));
  double spent = 0;
  for (int64_t i = 0; i < run.chunks(); ++i) {
    check_interrupt();
    const auto started = Clock::now();
    const std::span<const camera::Camera> part = run.chunk(i);
    const bool known = i < done;
    const sample::Chunk chunk =
        known ? run.stream->replay(log.read(before + i), part) : run.stream->push(part);
    if (!known) log.add(chunk.latents);
    output.add(chunk.frames);
    output.write_preview();
    chunks.push_back({{"first", chunk.first}, {"visible", chunk.visible}});
    if (known) continue;
    const double seconds = std::chrono::duration<double>(Clock::now() - started).count();
    spent += seconds;
    progress.set_note(memory_note(seconds));
    progress.advance();
  }
  if (!o.save_world.empty()) run.stream->save(o.save_world, run.folder->hashes());
  Json record = description;
  record["chunks"] = chunks;
  record["latents"] = latents.filename().string();
  record["frames"] = output.frames();
  output.finish(record);
  log.finish();
  const int64_t made = run.chunks() - done;
  fmt::print(
      "{}: {} frames, {:.2f} s of video, {} chunks, {:.2f} s per chunk, history {}, peak memory "
      "{}\n",
      o.out, output.frames(), static_cast<double>(output.frames()) / run.fps, run.chunks(),
      made > 0 ? spent / static_cast<double>(made) : 0,
      format_bytes(static_cast<uint64_t>(run.stream->history_bytes())),
      format_bytes(process_memory().value_or(ProcessMemory()).peak));
}

}  // namespace loci::app
