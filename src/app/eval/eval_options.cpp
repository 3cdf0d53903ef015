// SPDX-License-Identifier: Apache-2.0
#include "loci/app/eval/eval_options.h"

#include <filesystem>

#include "loci/app/cli/help.h"
#include "loci/app/world/world_options.h"
#include "loci/base/error.h"
#include "loci/base/pixel_size.h"
#include "loci/eval/suites/runner.h"
#include "loci/memory/history/history_registry.h"
#include "loci/sample/solvers/solver.h"

namespace loci::app {

eval::Sampling EvalOptions::sampling() const {
  eval::Sampling sampling;
  if (!size.empty()) {
    const PixelSize pixels = parse_pixel_size(size, "--size");
    sampling.width = pixels.width;
    sampling.height = pixels.height;
  }
  sampling.steps = steps;
  sampling.solver = solver;
  sampling.guidance = guidance;
  sampling.seeds = seeds.empty() ? std::vector{seed} : seeds;
  sampling.dtype = dtype == "bf16" ? at::kBFloat16 : at::kFloat;
  sampling.captions = !no_captions;
  sampling.cache =
      cache.empty() ? std::filesystem::path(out) / "cache" : std::filesystem::path(cache);
  return sampling;
}

void add_data_options(CLI::App& app, EvalOptions& o) {
  app.add_option("--data", o.data, "folder of recordings")->type_name("DIR")->required();
  app.add_option("--count", o.count, "number of clips, from the first (default: all)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
}

void add_out_options(CLI::App& app, EvalOptions& o) {
  app.add_option("--out", o.out, "folder of the report; an unfinished report is continued")
      ->type_name("DIR")
      ->required();
  add_shard_option(app, o.shard);
  app.add_option("--weight", o.weight,
                 "what has the same weight in means: clips, or instants (every value). Medians are "
                 "always over all values (default: clips; instants for probe, attention and "
                 "capacity)")
      ->check(one_of({"clips", "instants"}));
}

void add_seeds_option(CLI::App& app, EvalOptions& o) {
  app.add_option("--seeds", o.seeds,
                 "seeds of the noise, instead of --seed; values are means over them per clip")
      ->type_name("N")
      ->delimiter(',')
      ->check(seed_number())
      ->excludes("--seed");
}

void add_predictions_option(CLI::App& app, EvalOptions& o, const std::string& where) {
  app.get_option("--model")->required(false);
  app.add_option("--predictions", o.predictions,
                 fmt::format("also measure videos of another program, with or without models: a "
                             "folder, or NAME=DIR, with {}",
                             where))
      ->type_name("DIR");
}

void add_eval_options(CLI::App& app, EvalOptions& o, bool data) {
  app.add_option("--model", o.models, "model folder, or NAME=DIR; give several to compare them")
      ->type_name("DIR")
      ->required();
  if (data) add_data_options(app, o);
  add_out_options(app, o);
  if (data) {
    app.add_option("--cache", o.cache,
                   "folder for encoded recordings; runs may share it (default: OUT/cache)")
        ->type_name("DIR");
  }
  app.add_option("--size", o.size, "frame size in pixels (default: the first model's)")
      ->type_name("WxH");
  app.add_option("--steps", o.steps, "number of denoising steps (default: the model's)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  app.add_option("--solver", o.solver, "ODE solver (default: the model's)")
      ->check(one_of(sample::solver_names()));
  app.add_option("--guidance", o.guidance,
                 "classifier-free guidance scale; 1 = none (default: the model's)")
      ->type_name("X")
      ->check(number_in(0.0, 100.0));
  app.add_option("--seed", o.seed, "seed of the noise")
      ->type_name("N")
      ->check(seed_number())
      ->capture_default_str();
  app.add_option("--dtype", o.dtype, "data type of the transformer's computation")
      ->check(one_of({"fp32", "bf16"}))
      ->capture_default_str();
  app.add_flag("--no-captions", o.no_captions, "do not use the recordings' captions as prompts");
}

void add_history_option(CLI::App& app, std::optional<std::string>& history) {
  app.add_option("--history", history,
                 "history policy: which past frames a chunk attends to (default: the model's)")
      ->check(one_of(memory::history_names()));
}

void run_eval(eval::Suite& suite, const EvalOptions& options) {
  const Shard part = parse_shard(options.shard);
  eval::RunOptions run{options.out, part.index, part.count};
  if (options.weight) {
    run.weight = *options.weight == "clips" ? eval::Weight::kClips : eval::Weight::kInstants;
  }
  const int64_t missing = eval::run_suite(suite, run);
  if (missing > 0) return;
  fmt::print("{}\n", (std::filesystem::path(options.out) / "report.html").string());
}

}  // namespace loci::app
