// SPDX-License-Identifier: Apache-2.0
// loci eval return, camera, probe and cost.
#include <algorithm>
#include <memory>

#include "loci/app/cli/command.h"
#include "loci/app/eval/eval_options.h"
#include "loci/app/eval/eval_suites.h"
#include "loci/camera/path/presets.h"
#include "loci/eval/analysis/probe_suite.h"
#include "loci/eval/camera/camera_suite.h"
#include "loci/eval/camera/return_suite.h"
#include "loci/eval/cost/cost_suite.h"
#include "loci/eval/suites/path_clips.h"
#include "loci/memory/history/history_registry.h"

namespace loci::app {

namespace {

struct CostCommand : EvalOptions {
  std::vector<double> seconds = {10, 20, 40, 80};
  std::vector<std::string> histories = {"sparse", "dense"};
};

struct ReturnCommand : EvalOptions {
  std::vector<std::string> routes = eval::return_routes();
  std::string distance = "lpips", weights;
  std::optional<std::string> history;
};

struct CameraCommand : EvalOptions {
  std::vector<std::string> routes;
  double seconds = 10;
  std::optional<std::string> history;
};

struct ProbeCommand : EvalOptions {
  std::optional<double> seconds;
  int64_t first_chunk = 9, permutations = 20;
};

}  // namespace

void add_eval_cost(CLI::App& app) {
  app.description("Measure time and memory as a function of video length");
  auto o = std::make_shared<CostCommand>();
  add_eval_options(app, *o, /*data=*/false);
  app.add_option("--seconds", o->seconds, "video lengths to report, in seconds")
      ->delimiter(',')
      ->check(number_in(1.0, 360000.0))
      ->capture_default_str();
  app.add_option("--histories", o->histories, "history policies to compare")
      ->delimiter(',')
      ->check(one_of(memory::history_names()))
      ->capture_default_str();
  examples(app, {{"loci eval cost --model models/mini --model models/mini-softmax --out cost",
                  "two models, each with a bounded and a dense history"}});
  app.callback([o] {
    eval::CostSetup setup{eval::parse_models(o->models), {}, o->sampling(), o->seconds};
    std::sort(setup.seconds.begin(), setup.seconds.end());
    for (const std::string& history : o->histories) setup.arms.push_back({history, history});
    eval::CostSuite suite(std::move(setup));
    run_eval(suite, *o);
  });
}

void add_eval_return(CLI::App& app) {
  app.description("WBench's gated camera return: generate out and back from first frames");
  auto o = std::make_shared<ReturnCommand>();
  add_eval_options(app, *o);
  app.add_option("--route", o->routes,
                 "key string whose second half reverses the first; give several for several routes")
      ->type_name("KEYS");
  app.add_option("--distance", o->distance,
                 "distance between frames; all but pixels need --weights")
      ->check(one_of(eval::return_distances()))
      ->capture_default_str();
  app.add_option("--weights", o->weights, "folder with the weights of LPIPS, DINOv2 and CLIP")
      ->type_name("DIR");
  add_history_option(app, o->history);
  add_seeds_option(app, *o);
  add_predictions_option(app, *o, "\"RECORDING, ROUTE.mp4\", starting after the first frame");
  examples(app, {{"loci eval return --model models/mini --data recordings --weights weights --out "
                  "return",
                  "turn and walk, compared by LPIPS"}});
  app.callback([o] {
    eval::ReturnSuite suite({eval::parse_models(o->models),
                             {{"own", o->history}},
                             o->sampling(),
                             o->data,
                             o->out,
                             o->weights,
                             o->routes,
                             o->distance,
                             o->count,
                             eval::parse_models(o->predictions, "--predictions")});
    run_eval(suite, *o);
  });
}

void add_eval_camera(CLI::App& app) {
  app.description("Measure how well videos follow the given cameras, by two-view geometry");
  auto o = std::make_shared<CameraCommand>();
  add_eval_options(app, *o);
  app.add_option(
         "--route", o->routes,
         "preset, key string, 'recorded' for the recordings' own trajectories, or 'set-c' for the "
         "paper's seven designed paths; give several for several routes (default: all presets)")
      ->type_name("PATH");
  app.add_option("--seconds", o->seconds,
                 "length of presets and maximum length of recordings in seconds")
      ->type_name("S")
      ->check(number_in(1.0, 3600.0))
      ->capture_default_str();
  add_history_option(app, o->history);
  add_seeds_option(app, *o);
  add_predictions_option(app, *o, "\"RECORDING, ROUTE.mp4\", starting after the first frame");
  examples(app, {{"loci eval camera --model models/mini --data recordings --count 4 --out camera",
                  "all presets from four first frames"},
                 {"loci eval camera --model models/mini --data setc/clips --route recorded "
                  "--seconds 40 --out camera",
                  "trajectories of 'loci world record setc --path designed'"}});
  app.callback([o] {
    eval::CameraSetup setup{eval::parse_models(o->models),
                            {{"own", o->history}},
                            o->sampling(),
                            o->data,
                            o->out,
                            o->routes,
                            o->seconds,
                            o->count,
                            eval::parse_models(o->predictions, "--predictions")};
    if (setup.routes.empty()) {
      for (const camera::Preset& preset : camera::presets()) {
        setup.routes.emplace_back(preset.name);
      }
    }
    eval::CameraSuite suite(std::move(setup));
    run_eval(suite, *o);
  });
}

void add_eval_probe(CLI::App& app) {
  app.description("Predict the camera's yaw from the recurrent state with a linear probe");
  auto o = std::make_shared<ProbeCommand>();
  add_eval_options(app, *o);
  app.add_option("--seconds", o->seconds,
                 "length of each recording in seconds (default: all of it)")
      ->type_name("S")
      ->check(number_in(0.001, 36000.0));
  app.add_option("--first-chunk", o->first_chunk, "first chunk whose state is used")
      ->type_name("N")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--permutations", o->permutations, "number of label permutations for the control")
      ->type_name("N")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  examples(app, {{"loci eval probe --model models/mini --data designed --out probe",
                  "probe on recordings of designed trajectories"}});
  app.callback([o] {
    eval::ProbeSuite suite({eval::parse_models(o->models), o->sampling(), o->data, o->out,
                            o->seconds, o->count, o->first_chunk, o->permutations});
    run_eval(suite, *o);
  });
}

}  // namespace loci::app
