// SPDX-License-Identifier: Apache-2.0
// loci demo: a walk through a world that the model was never trained on. It sees the beginning,
// then has to go on by itself, and comes back to what it saw.
#include <algorithm>
#include <chrono>
#include <filesystem>

#include <ATen/ATen.h>

#include "loci/app/cli/command.h"
#include "loci/app/generate/demo_picture.h"
#include "loci/app/tools/models.h"
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/interrupt.h"
#include "loci/base/progress.h"
#include "loci/camera/revisit.h"
#include "loci/eval/metrics/image_metrics.h"
#include "loci/io/media/image.h"
#include "loci/io/media/video.h"
#include "loci/model/autoencoder/pixels.h"
#include "loci/model/autoencoder/vae_stream.h"
#include "loci/sample/model_folder.h"
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
  std::string out = "out/demo";
  uint64_t seed = 1;
  double context = 10, seconds = 15;
};

struct Walk {
  world::Clip clip;
  int64_t context = 0, latents = 0;      // of the beginning, and of all
  std::vector<camera::Revisit> returns;  // of frames after the context to frames of it
};

// Of the first walks, the one whose second part returns most often to views of the first.
Walk choose_walk(const Options& o, const sample::GenerationDefaults& d, int64_t factor,
                 int64_t chunk) {
  constexpr int64_t kTried = 24;
  const auto chunks = [&](double seconds) {
    return std::max<int64_t>(1,
                             std::llround(seconds * d.fps / static_cast<double>(factor * chunk)));
  };
  Walk walk;
  walk.context = 1 + chunk * chunks(o.context);
  walk.latents = walk.context + chunk * chunks(o.seconds);
  world::ClipOptions options;
  options.frames = 1 + (walk.latents - 1) * factor;
  options.width = static_cast<int>(d.width);
  options.height = static_cast<int>(d.height);
  options.fps = d.fps;
  options.fov = d.fov;
  options.revisit_share = 1;
  options.split = world::Split::kTest;
  const int64_t seen = 1 + (walk.context - 1) * factor;
  world::ClipMaker maker(options);
  int64_t best = 0;
  for (int64_t i = 0; i < kTried; ++i) {
    check_interrupt();
    std::vector<camera::Revisit> returns;
    for (const camera::Revisit& r :
         camera::find_revisits(maker.plan_trajectory(o.seed, i).poses, d.fps)) {
      if (r.frame >= seen && r.earlier < seen) returns.push_back(r);
    }
    if (i == 0 || returns.size() > walk.returns.size()) {
      best = i;
      walk.returns = std::move(returns);
    }
  }
  walk.clip = maker.make(o.seed, best);
  return walk;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// Rows of four: the first visit, the way between, the return as generated, and the truth.
at::Tensor return_sheet(const Walk& walk, const at::Tensor& made) {
  constexpr size_t kRows = 4;
  std::vector<at::Tensor> pictures;
  const size_t rows = std::min(kRows, walk.returns.size());
  for (size_t i = 0; i < rows; ++i) {
    const camera::Revisit& r = walk.returns[i * walk.returns.size() / rows];
    pictures.push_back(walk.clip.frames[r.earlier]);
    pictures.push_back(walk.clip.frames[(r.earlier + r.frame) / 2]);
    pictures.push_back(made[r.frame]);
    pictures.push_back(walk.clip.frames[r.frame]);
  }
  return world::tile_pictures(pictures, 4);
}

void demo(const Options& o) {
  const fs::path model = find_model(o.model);
  if (!fs::is_directory(model)) {
    fail("{} is no model folder; run this in the project's folder, or give --model DIR", o.model);
  }
  const at::ScalarType type = train::compute_type("auto", at::kCPU);
  const sample::ModelFolder folder(model, type);
  const sample::GenerationDefaults& d = folder.defaults();
  const model::Vae& vae = folder.vae();
  const int64_t factor = vae.config().temporal_factor();
  const int64_t chunk = folder.transformer().config().chunk_size;
  const Walk walk = choose_walk(o, d, factor, chunk);
  fmt::print(
      "A walk of {:.0f} s through \"{}\": {:.0f} s are shown to the model, the rest it makes.\n",
      static_cast<double>(walk.clip.frames.size(0)) / d.fps, walk.clip.caption, o.context);

  sample::StreamOptions options = d.stream();
  std::tie(options.latent_height, options.latent_width) = folder.latent_size(d.height, d.width);
  options.seed = o.seed;
  const std::string prompt = folder.has_text_encoder() ? walk.clip.caption : "";
  sample::Stream stream(folder.transformer(), &vae, options, folder.prompt(prompt, ""));

  const fs::path out = o.out;
  fs::create_directories(out);
  const auto budget = static_cast<int64_t>(options.history.budget);
  DemoPicture picture(d.width, d.height, budget);
  io::VideoWriter video(out / "walk.mp4", picture.width(), picture.height(), {.fps = d.fps});
  const at::Tensor made = at::zeros_like(walk.clip.frames);
  model::VaeEncoder encoder(vae);
  Progress progress("demo", static_cast<uint64_t>(walk.latents), "latents");
  double seconds = 0;
  int64_t generated = 0;
  for (int64_t first = 0; first < walk.latents;) {
    check_interrupt();
    const int64_t count = first == 0 ? 1 : chunk;
    std::vector<camera::Camera> cameras;
    for (int64_t i = first; i < first + count; ++i) {
      cameras.push_back(walk.clip.trajectory.cameras[i * factor]);
    }
    const int64_t begin = first == 0 ? 0 : 1 + (first - 1) * factor;
    const int64_t frames = first == 0 ? 1 : count * factor;
    const bool given = first < walk.context;
    const Clock::time_point started = Clock::now();
    sample::Chunk part;
    if (given) {
      const at::NoGradGuard no_grad;
      part = stream.accept(
          encoder.encode(model::pixels_from_frames(walk.clip.frames.narrow(0, begin, frames))),
          cameras);
      made.narrow(0, begin, frames).copy_(walk.clip.frames.narrow(0, begin, frames));
    } else {
      part = stream.push(cameras);
      made.narrow(0, begin, frames).copy_(part.frames);
      seconds += std::chrono::duration<double>(Clock::now() - started).count();
      generated += frames;
    }
    std::vector<at::Tensor> remembered;
    for (const int64_t latent : part.visible) remembered.push_back(made[latent * factor]);
    for (int64_t i = begin; i < begin + frames; ++i) {
      video.add(picture.compose(given ? "what it is shown" : "what it makes", made[i],
                                walk.clip.frames[i], remembered));
    }
    first += count;
    progress.advance(static_cast<uint64_t>(count));
  }
  video.finish();

  const int64_t seen = walk.clip.frames.size(0) - generated;
  const std::vector<double> scores =
      eval::psnr(made.narrow(0, seen, generated), walk.clip.frames.narrow(0, seen, generated));
  fmt::print("{} frames made in {:.1f} s, {:.1f} a second; {:.1f} dB against the world itself",
             generated, seconds, static_cast<double>(generated) / seconds, mean(scores));
  if (!walk.returns.empty()) {
    std::vector<double> at_returns;
    for (const camera::Revisit& r : walk.returns) at_returns.push_back(scores[r.frame - seen]);
    fmt::print(", {:.1f} dB where it comes back", mean(at_returns));
    io::write_png(out / "returns.png", return_sheet(walk, made));
  }
  fmt::print("\n\n{}: the walk\n", (out / "walk.mp4").string());
  if (!walk.returns.empty()) {
    fmt::print("{}: first visit, on the way, return as made, the world itself\n",
               (out / "returns.png").string());
  }
  fmt::print("\nWalk through it yourself: loci serve --model {}{}\n", model.string(),
             type == at::kBFloat16 ? " --dtype bf16" : "");
}

}  // namespace

void add_demo(CLI::App& app) {
  app.description(
      "Walk through a world the model has never seen, and come back: a video with the truth beside "
      "it");
  auto o = std::make_shared<Options>();
  app.add_option("--model", o->model, "model folder")->type_name("DIR")->capture_default_str();
  app.add_option("--out", o->out, "folder of the results")->type_name("DIR")->capture_default_str();
  app.add_option("--seed", o->seed, "of world and noise")->type_name("N")->capture_default_str();
  app.add_option("--context", o->context, "seconds that the model is shown")
      ->type_name("S")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  app.add_option("--seconds", o->seconds, "seconds that it makes")
      ->type_name("S")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  examples(app, {{"loci demo", "the demo model, 25 s of walk"},
                 {"loci demo --seed 7 --seconds 60", "another world, longer"}});
  app.callback([o] { demo(*o); });
}

}  // namespace loci::app
