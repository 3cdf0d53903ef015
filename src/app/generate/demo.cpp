// SPDX-License-Identifier: Apache-2.0
// loci demo: continues a recording of a scene that the model was not trained on. The trajectory
// returns to places in the recorded context.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>

#include <ATen/ATen.h>

#include "loci/app/cli/command.h"
#include "loci/app/generate/demo_picture.h"
#include "loci/app/tools/models.h"
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/interrupt.h"
#include "loci/base/output_path.h"
#include "loci/base/progress.h"
#include "loci/camera/path/resample.h"
#include "loci/camera/revisit.h"
#include "loci/camera/time_grid.h"
#include "loci/eval/metrics/image_metrics.h"
#include "loci/io/media/image.h"
#include "loci/io/media/video.h"
#include "loci/sample/model_folder.h"
#include "loci/sample/open_stream.h"
#include "loci/sample/recording_encoder.h"
#include "loci/sample/stream/stream.h"
#include "loci/train/loop/compute_type.h"
#include "loci/world/clip/clip_maker.h"
#include "loci/world/recording/contact_sheet.h"

namespace loci::app {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string model = "models/mini";
  std::string out = "out/demo", decoder;
  uint64_t seed = 1;
  std::optional<double> context;  // default: the tour of the model's family, or 10 s
  double seconds = 15;
};

// A recording whose beginning is the context.
struct DemoClip {
  world::Clip clip;
  int64_t context = 0, latents = 0;      // latents of the context and of the whole recording
  std::vector<camera::Revisit> returns;  // from generated frames to frames of the context
};

// The recording, among the first few of the seed, with the most returns to its context. If the
// scenes of the model's family have a tour, the context is the tour.
DemoClip choose_clip(const Options& o, const sample::ModelFolder& folder) {
  const sample::GenerationDefaults& d = folder.defaults();
  const camera::TimeGrid grid = folder.time_grid();
  constexpr int64_t kTried = 24;
  const auto chunks = [&](double seconds) {
    return std::max<int64_t>(
        1, std::llround(seconds * d.fps / static_cast<double>(grid.frames_per_chunk())));
  };
  world::ClipOptions options;
  options.scene.style = world::parse_family(d.family, folder.path().string());
  options.tour = options.scene.style && world::has_tour(*options.scene.style);
  DemoClip chosen;
  const int64_t context = chunks(o.context.value_or(options.tour ? world::kTourSeconds : 10));
  chosen.context = grid.latents_in_chunks(1 + context);
  chosen.latents = grid.latents_in_chunks(1 + context + chunks(o.seconds));
  options.frames = grid.frames_in_latents(chosen.latents);
  options.width = static_cast<int>(d.width);
  options.height = static_cast<int>(d.height);
  options.fps = d.fps;
  options.fov = d.fov;
  options.revisit_share = 1;
  options.split = world::Split::kTest;
  const int64_t seen = grid.frames_in_latents(chosen.context);
  world::ClipMaker maker(options);
  int64_t best = 0;
  for (int64_t i = 0; i < kTried; ++i) {
    check_interrupt();
    std::vector<camera::Revisit> returns;
    for (const camera::Revisit& r :
         camera::find_revisits(maker.plan_trajectory(o.seed, i).poses, d.fps)) {
      if (r.frame >= seen && r.earlier < seen) returns.push_back(r);
    }
    if (i == 0 || returns.size() > chosen.returns.size()) {
      best = i;
      chosen.returns = std::move(returns);
    }
  }
  chosen.clip = maker.make(o.seed, best);
  return chosen;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// Rows of four pictures: first visit, a frame in between, generated return, ground truth.
at::Tensor return_sheet(const DemoClip& recording, const at::Tensor& made) {
  constexpr size_t kRows = 4;
  std::vector<at::Tensor> pictures;
  const size_t rows = std::min(kRows, recording.returns.size());
  for (size_t i = 0; i < rows; ++i) {
    const camera::Revisit& r = recording.returns[i * recording.returns.size() / rows];
    pictures.push_back(recording.clip.frames[r.earlier]);
    pictures.push_back(recording.clip.frames[(r.earlier + r.frame) / 2]);
    pictures.push_back(made[r.frame]);
    pictures.push_back(recording.clip.frames[r.frame]);
  }
  return world::tile_pictures(pictures, 4);
}

void demo(const Options& o) {
  const fs::path model = find_model(o.model);
  if (!fs::is_directory(model)) {
    fail("{} is not a model folder; run this command in the repository, or give --model DIR",
         o.model);
  }
  const at::ScalarType type = train::compute_type("auto", at::kCPU);
  const sample::ModelFolder folder(model, type, o.decoder);
  const sample::GenerationDefaults& d = folder.defaults();
  const model::Vae& vae = folder.vae();
  const camera::TimeGrid grid = folder.time_grid();
  const DemoClip recording = choose_clip(o, folder);
  fmt::print("\"{1}\", {0:.0f} s: {2:.0f} s of recorded context, the rest is generated.\n",
             static_cast<double>(recording.clip.frames.size(0)) / d.fps, recording.clip.caption,
             static_cast<double>(grid.frames_in_latents(recording.context)) / d.fps);

  const std::string prompt = folder.has_text_encoder() ? recording.clip.caption : "";
  sample::Stream stream = sample::open_stream(folder, {.seed = o.seed}, folder.prompt(prompt, ""));

  const fs::path out = o.out;
  make_folders(out);
  DemoPicture picture(d.width, d.height, d.history_frames);
  io::VideoWriter video(out / "walk.mp4", picture.width(), picture.height(), {.fps = d.fps});
  const at::Tensor made = at::zeros_like(recording.clip.frames);
  Progress progress("demo", static_cast<uint64_t>(recording.latents), "latents");
  int64_t shown = 0;  // frames in the video
  const auto show = [&](const std::string& label, const at::Tensor& frames,
                        const sample::Chunk& part) {
    made.narrow(0, shown, frames.size(0)).copy_(frames);
    std::vector<at::Tensor> attended;
    for (const int64_t latent : part.visible) attended.push_back(made[grid.camera_frame(latent)]);
    for (const int64_t end = shown + frames.size(0); shown < end; ++shown) {
      video.add(picture.compose(label, made[shown], recording.clip.frames[shown], attended));
    }
    progress.advance(static_cast<uint64_t>(part.latents.size(2)));
  };
  const std::vector<camera::Camera> cameras =
      camera::latent_cameras(recording.clip.trajectory.cameras, grid);
  const auto context = static_cast<size_t>(recording.context);
  sample::RecordingEncoder(vae).accept_all(
      stream, std::span(cameras).first(context),
      [&](int64_t first, int64_t count) { return recording.clip.frames.narrow(0, first, count); },
      [&](const sample::Chunk& part) {
        const int64_t count = part.frames.size(0);
        show("recorded context", recording.clip.frames.narrow(0, shown, count), part);
      });
  double seconds = 0;
  for (size_t at = context, size = 0; at < cameras.size(); at += size) {
    check_interrupt();
    size = static_cast<size_t>(stream.next_size());
    const Clock::time_point started = Clock::now();
    const sample::Chunk part = stream.push(std::span(cameras).subspan(at, size));
    seconds += std::chrono::duration<double>(Clock::now() - started).count();
    show("generated", part.frames, part);
  }
  video.finish();
  const int64_t seen = grid.frames_in_latents(recording.context);
  const int64_t generated = shown - seen;

  const std::vector<double> scores =
      eval::psnr(made.narrow(0, seen, generated), recording.clip.frames.narrow(0, seen, generated));
  fmt::print("{} frames generated in {:.1f} s, {:.1f} per second; PSNR {:.1f} dB", generated,
             seconds, static_cast<double>(generated) / seconds, mean(scores));
  if (!recording.returns.empty()) {
    std::vector<double> at_returns;
    for (const camera::Revisit& r : recording.returns) at_returns.push_back(scores[r.frame - seen]);
    fmt::print(", {:.1f} dB at returns", mean(at_returns));
    io::write_png(out / "returns.png", return_sheet(recording, made));
  }
  fmt::print("\n\n{}: the video with the ground truth beside it\n", (out / "walk.mp4").string());
  if (!recording.returns.empty()) {
    fmt::print("{}: first visit, in between, generated return, ground truth\n",
               (out / "returns.png").string());
  }
  fmt::print("\nTo move through generated worlds yourself: loci serve --model {}{}\n",
             model.string(), type == at::kBFloat16 ? " --dtype bf16" : "");
}

}  // namespace

void add_demo(CLI::App& app) {
  app.description(
      "Continue a recording of an unseen scene and return: a video with the ground truth beside "
      "it");
  auto o = std::make_shared<Options>();
  app.add_option("--model", o->model, "model folder")->type_name("DIR")->capture_default_str();
  app.add_option("--decoder", o->decoder, decoder_help())->type_name("FILE");
  app.add_option("--out", o->out, "folder for the results")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_option("--seed", o->seed, "seed of the scene and of the noise")
      ->type_name("N")
      ->check(seed_number())
      ->capture_default_str();
  app.add_option("--context", o->context,
                 "length of the recorded context in seconds (default: the tour of the model's "
                 "family, or 10)")
      ->type_name("S")
      ->check(number_in(0.1, 3600.0));
  app.add_option("--seconds", o->seconds, "length of the generated video in seconds")
      ->type_name("S")
      ->check(number_in(0.1, 3600.0))
      ->capture_default_str();
  examples(app, {{"loci demo", "the demo model, 10 s of context and 15 s generated"},
                 {"loci demo --seed 7 --seconds 60", "another scene, a longer video"}});
  app.callback([o] { demo(*o); });
}

}  // namespace loci::app
