// SPDX-License-Identifier: Apache-2.0
// loci eval attention.
#include <memory>

#include "loci/app/cli/command.h"
#include "loci/app/eval/eval_options.h"
#include "loci/app/eval/eval_suites.h"
#include "loci/eval/analysis/attention_suite.h"
#include "loci/memory/history/history_registry.h"

namespace loci::app {

namespace {

struct AttentionCommand : EvalOptions {
  std::vector<std::string> histories = {"sparse"};
  std::vector<std::string> readouts = sample::readout_names();
  int64_t budget = 29;
  double timestep = 500;
  double context_seconds = 0;
  std::optional<double> seconds;
  std::string weights;
  bool no_rollouts = false;
};

}  // namespace

void add_eval_attention(CLI::App& app) {
  app.description(
      "Measure whether attention finds the frames that show the same place at revisits");
  auto o = std::make_shared<AttentionCommand>();
  add_eval_options(app, *o);
  app.add_option("--histories", o->histories, "history policies to compare")
      ->delimiter(',')
      ->check(one_of(memory::history_names()))
      ->capture_default_str();
  app.add_option("--budget", o->budget,
                 "maximum number of retained frames of a bounded history policy")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--readouts", o->readouts,
                 "readouts of the recurrent state to compare; the first is the reference")
      ->delimiter(',')
      ->check(one_of(sample::readout_names()))
      ->capture_default_str();
  app.add_option("--timestep", o->timestep, "timestep at which attention is measured, 0 to 1000")
      ->type_name("T")
      ->check(number_in(0.0, 1000.0))
      ->capture_default_str();
  app.add_option(
         "--context-seconds", o->context_seconds,
         "recorded context of rollouts in seconds, rounded to whole chunks; 0 = only the first "
         "frame. Revisits within the context are not scored")
      ->type_name("S")
      ->check(number_in(0.0, 36000.0))
      ->capture_default_str();
  app.add_option(
         "--seconds", o->seconds,
         "generated length after the context in seconds (default: the rest of the recording)")
      ->type_name("S")
      ->check(number_in(0.001, 36000.0));
  app.add_option("--weights", o->weights, "folder with the weights of LPIPS for the masked error")
      ->type_name("DIR");
  app.add_flag("--no-rollouts", o->no_rollouts, "replay the recordings without generating frames");
  examples(app, {{"loci eval attention --model models/mini --model models/mini-softmax --data "
                  "recordings --histories dense,sparse --out attention",
                  "two models, each with a dense and a bounded history"},
                 {"loci eval attention --model models/mini --data recordings --no-rollouts --out "
                  "attention",
                  "compare the readouts on, off and random"}});
  app.callback([o] {
    eval::AttentionSetup setup;
    setup.models = eval::parse_models(o->models);
    for (const std::string& history : o->histories) {
      setup.arms.push_back({history, history, o->budget});
    }
    setup.sampling = o->sampling();
    setup.data = o->data;
    setup.out = o->out;
    setup.clips = {o->context_seconds, o->seconds, o->count};
    setup.weights = o->weights;
    setup.timestep = o->timestep;
    setup.readouts.clear();
    for (const std::string& name : o->readouts) {
      setup.readouts.push_back(sample::parse_readout(name));
    }
    setup.rollouts = !o->no_rollouts;
    eval::AttentionSuite suite(std::move(setup));
    run_eval(suite, *o);
  });
}

}  // namespace loci::app
