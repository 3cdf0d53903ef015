// SPDX-License-Identifier: Apache-2.0
// loci eval memory, revisit, arena and drift: models continue recordings.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "loci/app/cli/command.h"
#include "loci/app/eval/eval_options.h"
#include "loci/app/eval/eval_suites.h"
#include "loci/base/error.h"
#include "loci/eval/drift/drift_suite.h"
#include "loci/eval/mind/mind_data.h"
#include "loci/eval/suites/continuation_suite.h"
#include "loci/memory/history/history_registry.h"

namespace loci::app {

namespace {

constexpr int64_t kArenaFrames = 29;  // budget in the paper

struct ContinuationCommand : EvalOptions {
  std::optional<double> context_seconds;
  double default_context = 0;  // seconds; MIND clips define their own context
  std::optional<double> seconds;
  std::optional<std::string> history;
  std::vector<std::string> histories;
  std::vector<int64_t> sweep;
  std::optional<int64_t> budget;  // frames (default: the model folder's; in the arena kArenaFrames)
  std::string weights;
  std::vector<std::string> readouts;
  std::vector<int64_t> resets;
  std::optional<double> stride, fov;
  std::optional<std::string> clock;
  std::string view = "first";
  bool mind_compat = false;
  std::string ssim_border = "mirrored";
  double window_seconds = 5;
  bool autoencoder = false, videos = false;

  eval::Variations variations() const {
    eval::Variations list;
    for (const std::string& name : readouts) list.readouts.push_back(sample::parse_readout(name));
    list.resets = resets;
    return list;
  }

  eval::MindScoring mind() const {
    return {mind_compat,
            ssim_border == "cropped" ? eval::SsimBorder::kCropped : eval::SsimBorder::kMirrored};
  }

  eval::ContinuationSetup setup(std::string suite, std::string title) const {
    eval::ContinuationSetup setup;
    setup.suite = std::move(suite);
    setup.title = std::move(title);
    setup.models = eval::parse_models(models);
    setup.sampling = sampling();
    setup.data = data;
    setup.out = out;
    setup.weights = weights;
    setup.mind = mind();
    setup.predictions = eval::parse_models(predictions, "--predictions");
    if (setup.models.empty() && setup.predictions.empty()) {
      fail("--model is missing; expected a model, or --predictions with videos");
    }
    setup.clips = {context_seconds.value_or(eval::is_mind(data) ? 0 : default_context), seconds,
                   count};
    setup.clips.stride = stride;
    setup.clips.fov = fov;
    if (clock) {
      setup.clips.clock = *clock == "recorded" ? eval::Clock::kRecorded : eval::Clock::kGenerated;
    }
    setup.clips.views.clear();
    if (view != "third") setup.clips.views.emplace_back("1st_data");
    if (view != "first") setup.clips.views.emplace_back("3rd_data");
    return setup;
  }
};

void add_lengths(CLI::App& app, ContinuationCommand& o) {
  app.add_option("--weights", o.weights,
                 "folder with the weights of LPIPS, DINOv2 and CLIP; enables their metrics")
      ->type_name("DIR");
  app.add_option(
         "--context-seconds", o.context_seconds,
         fmt::format("recorded context in seconds, rounded to whole chunks; 0 = only the first "
                     "frame (default {:g})",
                     o.default_context))
      ->type_name("S")
      ->check(number_in(0.0, 36000.0));
  app.add_option("--seconds", o.seconds,
                 fmt::format("generated length in seconds (default{})",
                             o.seconds ? fmt::format(" {:g}", *o.seconds)
                                       : std::string(": the rest of the recording")))
      ->type_name("S")
      ->check(number_in(0.001, 36000.0));
}

void add_time_base(CLI::App& app, ContinuationCommand& o) {
  app.add_option("--stride", o.stride,
                 fmt::format("recorded frames per generated frame (default: as many as keep the "
                             "recorded time at the model's frame rate; MIND: {:g})",
                             eval::kMindStride))
      ->type_name("N")
      ->check(number_in(1.0, 100.0));
  app.add_option("--clock", o.clock,
                 "what seconds are: generated, at the model's frame rate, or recorded (default: "
                 "generated; MIND: recorded)")
      ->check(one_of({"generated", "recorded"}));
  app.add_option("--fov", o.fov,
                 fmt::format("horizontal field of view in degrees of recordings without a lens "
                             "(default: the model's; MIND: {:g}, Unreal Engine's default)",
                             eval::kMindFov))
      ->type_name("DEG")
      ->check(number_in(1.0, 179.0));
  app.add_option("--view", o.view, "MIND: first-person or third-person clips, or both")
      ->check(one_of({"first", "third", "both"}))
      ->capture_default_str();
}

// How MIND's clips are scored.
void add_mind_scoring(CLI::App& app, ContinuationCommand& o) {
  app.add_flag("--mind-compat", o.mind_compat,
               "MIND: ignore the last batch of frames like the official scorer");
  app.add_option(
         "--ssim-border", o.ssim_border,
         "MIND: border of SSIM; mirrored as in newer torchmetrics, cropped as in older versions")
      ->check(one_of({"mirrored", "cropped"}))
      ->capture_default_str();
}

constexpr const char* kClipVideos =
    "CLIP.mp4, starting after the context, or MIND's tree of predictions";

void add_budget(CLI::App& app, ContinuationCommand& o, const std::string& otherwise) {
  app.add_option("--budget", o.budget,
                 fmt::format("maximum number of retained frames of a bounded history policy "
                             "(default: {})",
                             otherwise))
      ->type_name("N")
      ->check(CLI::Range(0, 1000000));
}

void add_variations(CLI::App& app, ContinuationCommand& o) {
  app.add_option("--readouts", o.readouts, "also run with these readouts of the recurrent state")
      ->delimiter(',')
      ->check(one_of(sample::readout_names()));
  app.add_option("--reset-every", o.resets,
                 "also run with the recurrent state reset before every N-th chunk")
      ->type_name("N")
      ->delimiter(',')
      ->check(CLI::Range(1, 1000000));
}

}  // namespace

void add_eval_memory(CLI::App& app) {
  app.description("Continue recordings after a context and compare with the recorded frames");
  auto o = std::make_shared<ContinuationCommand>();
  o->default_context = 10;
  add_eval_options(app, *o);
  add_lengths(app, *o);
  add_time_base(app, *o);
  add_history_option(app, o->history);
  add_budget(app, *o, "the model's");
  add_variations(app, *o);
  add_seeds_option(app, *o);
  add_predictions_option(app, *o, kClipVideos);
  add_mind_scoring(app, *o);
  examples(
      app,
      {{"loci eval memory --model models/mini --model models/mini-softmax --data "
        "recordings --context-seconds 10 --out report",
        "compare two models"},
       {"loci eval memory --model models/mini --data long --context-seconds 240 --out far",
        "returns to places seen minutes before"},
       {"loci eval memory --model models/loci --data MIND-Data --weights weights --mind-compat "
        "--out mind",
        "MIND's memory test, scored like the official scorer"},
       {"loci eval memory --predictions ours=videos --data MIND-Data --out scores",
        "score the videos of another program"}});
  app.callback([o] {
    eval::ContinuationSetup setup = o->setup("memory", "Memory: continuing recordings");
    setup.arms = eval::with_variations({{o->history.value_or("own"), o->history, o->budget}},
                                       o->variations());
    setup.metrics = {"mse",           "psnr",         "ssim",         "lpips",
                     "mse_20",        "psnr_20",      "ssim_20",      "lpips_20",
                     "psnr_revisit",  "ssim_revisit", "psnr_context", "ssim_context",
                     "lpips_revisit", "psnr_60",      "ssim_60",      "lpips_60"};
    eval::ContinuationSuite suite(std::move(setup));
    run_eval(suite, *o);
  });
}

void add_eval_revisit(CLI::App& app) {
  app.description("Generate along recorded trajectories and score the revisits");
  auto o = std::make_shared<ContinuationCommand>();
  add_eval_options(app, *o);
  add_lengths(app, *o);
  add_time_base(app, *o);
  add_history_option(app, o->history);
  add_budget(app, *o, "the model's");
  add_variations(app, *o);
  add_seeds_option(app, *o);
  add_predictions_option(app, *o, kClipVideos);
  add_mind_scoring(app, *o);
  examples(app, {{"loci eval revisit --model models/mini --model models/mini-softmax --data "
                  "recordings --weights weights --out report",
                  "compare two models, starting from the first frame"},
                 {"loci eval revisit --model models/mini --predictions other=videos --data "
                  "recordings --seeds 42,43,44 --out report",
                  "three seeds, and the videos of another program"}});
  app.callback([o] {
    eval::ContinuationSetup setup = o->setup("revisit", "Revisits");
    setup.arms = eval::with_variations({{"own", o->history, o->budget}}, o->variations());
    setup.metrics = {"psnr_revisit",
                     "ssim_revisit",
                     "lpips_revisit",
                     "lpips_vgg_revisit",
                     "psnr",
                     "ssim",
                     "lpips",
                     "psnr_8_20",
                     "lpips_8_20",
                     "psnr_20_60",
                     "lpips_20_60",
                     "psnr_60",
                     "lpips_60",
                     "identity_dino",
                     "identity_clip",
                     "local_1",
                     "local_5",
                     "local_10",
                     "local_5_8_20",
                     "local_5_20_60",
                     "local_5_60",
                     "local_5_shared",
                     "local_5_shared_8_20",
                     "local_gap_8_20",
                     "sharpness_revisit"};
    eval::ContinuationSuite suite(std::move(setup));
    run_eval(suite, *o);
  });
}

void add_eval_arena(CLI::App& app) {
  app.description("Compare models and history policies with the same budget of frames");
  auto o = std::make_shared<ContinuationCommand>();
  o->default_context = 10;
  o->histories = {"sparse", "window", "overlap", "landmarks", "content", "dense"};
  add_eval_options(app, *o);
  add_lengths(app, *o);
  add_time_base(app, *o);
  add_seeds_option(app, *o);
  app.add_option("--histories", o->histories, "history policies to compare")
      ->delimiter(',')
      ->check(one_of(memory::history_names()))
      ->capture_default_str();
  add_budget(app, *o, fmt::format("{}", kArenaFrames));
  add_variations(app, *o);
  app.add_option("--sweep", o->sweep,
                 "measure quality for these numbers of retained frames with the first policy")
      ->type_name("N")
      ->delimiter(',')
      ->check(CLI::Range(0, 1000000));
  examples(app, {{"loci eval arena --model models/mini --model models/mini-softmax --data "
                  "recordings --out arena",
                  "every policy with both models"},
                 {"loci eval arena --model models/mini --model models/mini-softmax --data "
                  "recordings --histories sparse --sweep 0,1,2,4,9,14,19,24,29,34 --out sweep",
                  "the contribution of the recurrent state"},
                 {"loci eval arena --model models/mini --data recordings --histories sparse "
                  "--readouts off,random --reset-every 1 --out switches",
                  "the readout off, the readout random, and the state reset before each chunk"}});
  app.callback([o] {
    eval::ContinuationSetup setup = o->setup("arena", "Arena: models and histories");
    setup.metrics = {"psnr_revisit", "ssim_revisit", "lpips_revisit", "psnr",        "ssim",
                     "lpips",        "psnr_60",      "chunk_seconds", "history_mib", "visible"};
    if (o->sweep.empty()) {
      for (const std::string& history : o->histories) {
        setup.arms.push_back({history, history, o->budget.value_or(kArenaFrames)});
      }
    } else {
      setup.title = "Quality against retained frames";
      setup.sweep = true;
      std::sort(o->sweep.begin(), o->sweep.end());
      for (const int64_t frames : o->sweep) {
        setup.arms.push_back({fmt::format("{} frames", frames), o->histories.front(), frames});
      }
    }
    setup.arms = eval::with_variations(setup.arms, o->variations());
    eval::ContinuationSuite suite(std::move(setup));
    run_eval(suite, *o);
  });
}

void add_eval_drift(CLI::App& app) {
  app.description("Measure whether generated walks stay sharp, compared with the recordings");
  auto o = std::make_shared<ContinuationCommand>();
  o->default_context = 20;
  o->seconds = 60;
  add_eval_options(app, *o);
  add_lengths(app, *o);
  add_time_base(app, *o);
  app.add_option("--window-seconds", o->window_seconds,
                 "length of the windows of time for which values are reported, in seconds")
      ->type_name("S")
      ->check(CLI::Range(0.5, 3600.0))
      ->capture_default_str();
  add_history_option(app, o->history);
  add_budget(app, *o, "the model's");
  add_variations(app, *o);
  app.add_flag("--autoencoder", o->autoencoder,
               "also measure recorded frames encoded and decoded by the model's autoencoder: the "
               "limit of what the model can reach");
  add_predictions_option(app, *o, kClipVideos);
  app.add_flag("--videos", o->videos, "keep the generated walks as videos in OUT/predictions");
  examples(
      app,
      {{"loci world record walks --count 24 --seconds 80 --split test --revisits 1",
        "record suitable walks: 20 s of context and 60 s to compare with"},
       {"loci eval drift --model models/mini --data walks --weights weights --out drift",
        "one minute per walk"},
       {"loci eval drift --model old=models/mini --model new=runs/7/model --data walks "
        "--autoencoder --out drift",
        "compare two models and their autoencoders"},
       {"loci eval drift --predictions other=videos --data walks --weights weights --out other",
        "measure videos of another program"}});
  app.callback([o] {
    eval::ContinuationSetup setup = o->setup("drift", "Drift: walks over time");
    setup.arms = eval::with_variations({{o->history.value_or("own"), o->history, o->budget}},
                                       o->variations());
    setup.autoencoder = o->autoencoder;
    setup.videos = o->videos;
    eval::DriftSuite suite(std::move(setup), o->window_seconds);
    run_eval(suite, *o);
  });
}

}  // namespace loci::app
