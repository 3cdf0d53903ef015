// SPDX-License-Identifier: Apache-2.0
// loci eval attention.
#include <memory>

#include "loci/app/cli/command.h"
#include "loci/app/eval/eval_options.h"
#include "loci/app/eval/eval_suites.h"
#include "loci/eval/analysis/attention_suite.h"
#include "loci/memory/history/history_policy.h"

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
  app.description("Whether attention goes to what shows the same, where recordings come back");
  auto o = std::make_shared<AttentionCommand>();
  add_eval_options(app, *o);
  app.add_option("--histories", o->histories, "policies to compare")
      ->delimiter(',')
      ->check(CLI::IsMember(memory::history_names()))
      ->capture_default_str();
  app.add_option("--budget", o->budget, "most frames that a bounded history keeps")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--readouts", o->readouts,
                 "of the recurrent states, while attention is read; the first is compared with the "
                 "others")
      ->delimiter(',')
      ->check(CLI::IsMember(sample::readout_names()))
      ->capture_default_str();
  app.add_option("--timestep", o->timestep, "noise at which attention is read, of 1000")
      ->type_name("T")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  app.add_option("--context-seconds", o->context_seconds,
                 "recorded video that rollouts are given, in whole chunks; 0 = the first frame "
                 "alone. Only later revisits count")
      ->type_name("S")
      ->check(CLI::Range(0.0, 36000.0))
      ->capture_default_str();
  app.add_option("--seconds", o->seconds, "after the context; the rest if not given")
      ->type_name("S")
      ->check(CLI::Range(0.001, 36000.0));
  app.add_option("--weights", o->weights, "folder with weights of LPIPS, for the masked error")
      ->type_name("DIR");
  app.add_flag("--no-rollouts", o->no_rollouts, "replay only; generate nothing");
  examples(app, {{"loci eval attention --model models/mini --model models/mini-softmax --data "
                  "recordings --histories dense,sparse --out attention",
                  "two models with all of their history and with a bounded one"},
                 {"loci eval attention --model models/mini --data recordings --no-rollouts --out "
                  "attention",
                  "the readout on, off and random"}});
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
