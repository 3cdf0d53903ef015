// SPDX-License-Identifier: Apache-2.0
// The run behind `loci generate`: a thin user of sample::Stream.
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
#include "loci/base/progress.h"
#include "loci/base/text.h"
#include "loci/io/media/image.h"
#include "loci/io/media/resize.h"
#include "loci/model/autoencoder/pixels.h"
#include "loci/model/autoencoder/vae_stream.h"
#include "loci/sample/model_folder.h"
#include "loci/sample/stream/latent_log.h"
#include "loci/sample/stream/stream.h"
#include "loci/world/recording/recording.h"

namespace loci::app {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

struct PixelSize {
  int64_t width = 0, height = 0;
};

PixelSize parse_size(const std::string& text, const sample::GenerationDefaults& defaults) {
  if (text.empty()) return {defaults.width, defaults.height};
  const std::vector<std::string_view> parts = split(text, 'x');
  const auto side = [&](size_t i) {
    return parts.size() == 2 ? parse_int(parts[i]) : std::nullopt;
  };
  const std::optional<int64_t> width = side(0), height = side(1);
  constexpr int64_t kMost = 16384;
  if (!width || !height || *width < 1 || *height < 1 || *width > kMost || *height > kMost) {
    fail("--size: '{}' is not of the form 768x512", text);
  }
  return {*width, *height};
}

void check(const GenerateOptions& o) {
  const int sources = !o.image.empty() + !o.context.empty() + !o.load_world.empty();
  if (sources != 1) {
    fail("{} of --image, --context and --load-world are given; give one", sources);
  }
  if (o.trajectory.empty() && o.context.empty()) {
    fail(
        "--trajectory is missing: give a path, a preset such as look_around, or keys such as w-32");
  }
  if (o.context.empty() && (o.context_seconds || o.keep_context)) {
    fail("--context-seconds and --keep-context belong to --context");
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
    if (given) fail("{} belongs to the world and cannot change when it is loaded", name);
  }
}

sample::StreamOptions stream_options(const GenerateOptions& o, const sample::ModelFolder& folder,
                                     const PixelSize& size) {
  const sample::GenerationDefaults& d = folder.defaults();
  sample::StreamOptions options = d.stream();
  std::tie(options.latent_height, options.latent_width) =
      folder.latent_size(size.height, size.width);
  options.history.kind = o.history.value_or(d.history);
  if (o.history_frames) options.history.set_budget(*o.history_frames);
  options.history.archive = o.archive.value_or(d.archive);
  if (o.kv) options.kv.format = memory::parse_kv_format(*o.kv);
  options.kv.staging_bytes = o.staging_mib.value_or(0) << 20;
  options.tiling.tile = o.tile.value_or(0);
  if (options.tiling.tile > 0) {
    const int64_t side = folder.vae().config().spatial_factor();
    options.tiling.overlap =
        std::min(options.tiling.overlap, options.tiling.tile / 2 / side * side);
  }
  options.guidance = o.guidance.value_or(d.guidance);
  options.seed = o.seed.value_or(options.seed);
  return options;
}

sample::SolverOptions solver_options(const GenerateOptions& o, sample::SolverOptions solver) {
  solver.kind = o.solver.value_or(solver.kind);
  solver.steps = o.steps.value_or(solver.steps);
  solver.shift = o.shift.value_or(solver.shift);
  return solver;
}

// A stream that is about to start, and where its past comes from.
struct Run {
  std::unique_ptr<sample::ModelFolder> folder;
  std::unique_ptr<sample::Stream> stream;
  std::unique_ptr<world::Recording> recording;  // with --context
  PixelSize size;
  double fps = 16;
  int64_t context = 0;               // latents
  std::vector<camera::Camera> path;  // of the new chunks, one per latent

  int64_t frames_per_latent() const { return folder->vae().config().temporal_factor(); }
  int64_t chunk_size() const { return stream->chunk_size(); }
  double chunk_seconds() const {
    return static_cast<double>(chunk_size() * frames_per_latent()) / fps;
  }
  int64_t chunks() const { return static_cast<int64_t>(path.size()) / chunk_size(); }
};

void open_context(Run& run, const GenerateOptions& o) {
  const std::vector<world::RecordingFiles> found = world::find_recordings(o.context);
  if (found.size() != 1) {
    fail("{} holds {} recordings; --context takes a folder of one", o.context, found.size());
  }
  world::RecordingOptions options;
  options.width = static_cast<int>(run.size.width);
  options.height = static_cast<int>(run.size.height);
  options.fps = run.fps;
  options.fov = o.fov.value_or(run.folder->defaults().fov);
  run.recording = std::make_unique<world::Recording>(found.front(), options);
  const int64_t chunk_frames = run.chunk_size() * run.frames_per_latent();
  const int64_t frames = run.recording->frame_count();
  const double wanted =
      o.context_seconds ? *o.context_seconds * run.fps : static_cast<double>(frames - 1) / 2;
  const int64_t chunks = std::min(static_cast<int64_t>(wanted), frames - 1) / chunk_frames;
  run.context = 1 + chunks * run.chunk_size();
}

// Poses of the recording, one per latent, from latent `first` on.
std::vector<camera::Camera> recorded_path(const Run& run, int64_t first) {
  const camera::Trajectory& all = run.recording->trajectory();
  std::vector<camera::Camera> path;
  for (auto i = static_cast<size_t>(first * run.frames_per_latent()); i < all.cameras.size();
       i += static_cast<size_t>(run.frames_per_latent())) {
    path.push_back(all.cameras[i]);
  }
  return path;
}

// How many poses are wanted: whole chunks that hold `seconds`, or `available` poses.
size_t wanted_poses(const Run& run, const std::optional<double>& seconds, size_t available) {
  const auto size = static_cast<double>(run.chunk_size());
  const double chunks =
      seconds ? *seconds / run.chunk_seconds() : static_cast<double>(available) / size;
  // A length that is whole chunks but for rounding is not rounded up.
  return static_cast<size_t>(std::max(1.0, std::ceil(chunks - 1e-6)) * size);
}

void plan_path(Run& run, const GenerateOptions& o, const camera::Pose& from) {
  if (o.trajectory.empty()) {
    const std::vector<camera::Camera> rest = recorded_path(run, run.context);
    const size_t whole = rest.size() / run.chunk_size() * run.chunk_size();
    size_t count = whole;
    if (o.seconds) count = std::min(whole, wanted_poses(run, o.seconds, whole));
    if (count == 0) {
      fail(
          "{} has no chunk left after {} latents of context; give --trajectory or a shorter "
          "--context-seconds",
          o.context, run.context);
    }
    run.path.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(count));
    return;
  }
  const std::vector<camera::Camera> path =
      read_latent_path(o.trajectory, run.fps, run.frames_per_latent(),
                       o.fov.value_or(run.folder->defaults().fov), o.seconds);
  const size_t count = wanted_poses(run, o.seconds, path.size() - 1);
  if (count > path.size() - 1) {
    log_info("the path's last pose is held for {} more latents", count - (path.size() - 1));
  }
  run.path = continued(path, from, count);
}

Run open_run(const GenerateOptions& o) {
  Run run;
  run.folder = std::make_unique<sample::ModelFolder>(
      find_model(o.model), o.dtype == "bf16" ? at::kBFloat16 : at::kFloat);
  run.fps = run.folder->defaults().fps;
  // Texts come first: their encoder may be larger than all the rest, and is gone before that loads.
  std::optional<sample::Prompt> prompt;
  if (o.load_world.empty()) {
    prompt = run.folder->prompt(o.prompt.value_or(""), o.negative.value_or(""));
  } else if (o.prompt || o.negative) {
    const sample::WorldInfo before = sample::read_world(o.load_world);
    prompt =
        run.folder->prompt(o.prompt.value_or(before.prompt), o.negative.value_or(before.negative));
  }
  const model::Transformer& transformer = run.folder->transformer();
  const model::Vae& vae = run.folder->vae();
  camera::Pose from;
  if (!o.load_world.empty()) {
    run.stream = std::make_unique<sample::Stream>(
        sample::Stream::load(o.load_world, transformer, &vae, run.folder->hashes()));
    const int64_t factor = vae.config().spatial_factor();
    run.size = {run.stream->options().latent_width * factor,
                run.stream->options().latent_height * factor};
    if (prompt) run.stream->set_prompt(*prompt);
    from = run.stream->last_camera().pose;
  } else {
    run.size = parse_size(o.size, run.folder->defaults());
    run.stream = std::make_unique<sample::Stream>(
        transformer, &vae, stream_options(o, *run.folder, run.size), *prompt);
  }
  run.stream->set_solver(solver_options(o, run.stream->options().solver));
  if (o.readout) run.stream->set_readout(sample::parse_readout(*o.readout), o.seed.value_or(0));
  if (!o.context.empty()) {
    open_context(run, o);
    from = recorded_path(run, run.context - 1).front().pose;
  }
  plan_path(run, o, from);
  return run;
}

// What is needed to repeat the run, without what it gave.
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

// The first frame, or the recorded past.
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
  const at::NoGradGuard no_grad;
  model::VaeEncoder encoder(run.folder->vae(), {.tiling = run.stream->options().tiling});
  const std::vector<camera::Camera> path = recorded_path(run, 0);
  Progress progress("context", static_cast<uint64_t>(run.context), "latents");
  for (int64_t at = 0; at < run.context;) {
    check_interrupt();
    const int64_t count = at == 0 ? 1 : run.chunk_size();
    const int64_t factor = run.frames_per_latent();
    const world::Clip clip = at == 0 ? run.recording->read(0, 1)
                                     : run.recording->read((at - 1) * factor + 1, count * factor);
    const auto part = std::span(path).subspan(static_cast<size_t>(at), static_cast<size_t>(count));
    const sample::Chunk chunk =
        run.stream->accept(encoder.encode(model::pixels_from_frames(clip.frames)), part);
    if (o.keep_context) output.add(chunk.frames);
    at += count;
    progress.advance(static_cast<uint64_t>(count));
  }
}

std::string memory_note(double seconds) {
  return fmt::format("{:.2f} s/chunk, {}", seconds,
                     format_bytes(process_memory().value_or(ProcessMemory()).now));
}

}  // namespace

void generate(const GenerateOptions& o) {
  check(o);
  Run run = open_run(o);
  const Json description = describe(run, o);
  const fs::path latents = fs::path(o.out).replace_extension(".latents");
  GenerateOutput output(o.out, run.size.width, run.size.height, run.fps, o.preview);
  sample::LatentLog log(latents, description, o.resume);
  begin(run, o, log, output);

  // Latents of the first image come before those of the chunks.
  const int64_t before = o.image.empty() ? 0 : 1;
  const int64_t done = std::min(log.size() - before, run.chunks());
  Json chunks = Json::array();
  Progress progress("generate", static_cast<uint64_t>(run.chunks()), "chunks",
                    static_cast<uint64_t>(done));
  double spent = 0;
  for (int64_t i = 0; i < run.chunks(); ++i) {
    check_interrupt();
    const auto started = Clock::now();
    const auto part = std::span(run.path).subspan(static_cast<size_t>(i * run.chunk_size()),
                                                  static_cast<size_t>(run.chunk_size()));
    const bool known = i < done;
    const sample::Chunk chunk =
        known ? run.stream->replay(log.read(before + i), part) : run.stream->push(part);
    if (!known) log.add(chunk.latents);
    output.add(chunk.frames);
    output.show_preview();
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
      "{}: {} frames, {:.2f} s of video, {} chunks, {:.2f} s a chunk, history {}, peak memory {}\n",
      o.out, output.frames(), static_cast<double>(output.frames()) / run.fps, run.chunks(),
      made > 0 ? spent / static_cast<double>(made) : 0,
      format_bytes(static_cast<uint64_t>(run.stream->history_bytes())),
      format_bytes(process_memory().value_or(ProcessMemory()).peak));
}

}  // namespace loci::app
