// SPDX-License-Identifier: Apache-2.0
// loci eval capacity
#include <algorithm>
#include <memory>

#include "loci/app/cli/command.h"
#include "loci/app/eval/eval_options.h"
#include "loci/app/eval/eval_suites.h"
#include "loci/base/pixel_size.h"
#include "loci/eval/analysis/capacity_suite.h"

namespace loci::app {

namespace {

struct CapacityCommand : EvalOptions {
  double context_seconds = 40;
  std::optional<double> seconds;
  std::vector<std::string> encodings = eval::capacity_names();
  std::vector<double> betas = {0.03, 0.1, 1};
  int64_t states = 8;
  std::string config;
};

}  // namespace

void add_eval_capacity(CLI::App& app) {
  app.description("Measure what recurrent states can store of a walk, without a network");
  auto o = std::make_shared<CapacityCommand>();
  o->size = "192x128";
  o->seed = 1;
  add_data_options(app, *o);
  add_out_options(app, *o);
  app.add_option("--context-seconds", o->context_seconds, "recorded context that is written")
      ->type_name("S")
      ->check(CLI::Range(1.0, 36000.0))
      ->capture_default_str();
  app.add_option("--seconds", o->seconds,
                 "length after the context in which returns are read (default: the rest of the "
                 "recording)")
      ->type_name("S")
      ->check(CLI::Range(0.001, 36000.0));
  app.add_option("--encodings", o->encodings, "encodings and references to compare")
      ->delimiter(',')
      ->check(one_of(eval::capacity_names()))
      ->capture_default_str();
  app.add_option("--config", o->config, "also measure the encoding of this model's config.json")
      ->type_name("FILE");
  app.add_option("--betas", o->betas, "write strengths")
      ->delimiter(',')
      ->check(CLI::Range(1e-4, 2.0))
      ->capture_default_str();
  app.add_option("--states", o->states, "number of states of 128 channels that are read together")
      ->type_name("N")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--size", o->size, "frame size in pixels; tokens are 16x16 pixels")
      ->type_name("WxH")
      ->capture_default_str();
  app.add_option("--seed", o->seed, "seed of the constant contents")
      ->type_name("N")
      ->capture_default_str();
  examples(app, {{"loci eval capacity --data recordings --count 6 --seconds 20 --out capacity",
                  "all encodings on six recordings"},
                 {"loci eval capacity --data recordings --encodings mean-colour --betas 0.1 "
                  "--config models/mini/transformer/config.json --out capacity",
                  "the encoding of a model"}});
  app.callback([o] {
    const PixelSize size =
        parse_pixel_size(o->size, "--size", {.least = 32, .most = 4096, .multiple = 16});
    eval::CapacitySetup setup;
    setup.data = o->data;
    setup.out = o->out;
    setup.clips = {o->context_seconds, o->seconds, o->count};
    setup.width = size.width;
    setup.height = size.height;
    setup.encodings = o->encodings;
    if (!o->config.empty()) setup.config = o->config;
    setup.betas = o->betas;
    setup.states = o->states;
    setup.seed = o->seed;
    eval::CapacitySuite suite(std::move(setup));
    run_eval(suite, *o);
  });
}

}  // namespace loci::app
