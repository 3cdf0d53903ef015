// SPDX-License-Identifier: Apache-2.0
#include "loci/app/eval/eval_options.h"

#include <filesystem>

#include "loci/app/world/world_options.h"
#include "loci/base/error.h"
#include "loci/base/text.h"
#include "loci/eval/suites/runner.h"
#include "loci/sample/solvers/solver.h"

namespace loci::app {

eval::Sampling EvalOptions::sampling() const {
  eval::Sampling sampling;
  if (!size.empty()) {
    const std::vector<std::string_view> parts = split(size, 'x');
    sampling.width = parts.size() == 2 ? parse_int(parts[0]) : std::nullopt;
    sampling.height = parts.size() == 2 ? parse_int(parts[1]) : std::nullopt;
    constexpr int64_t kMost = 16384;
    for (const std::optional<int64_t>& side : {sampling.width, sampling.height}) {
      if (!side || *side < 1 || *side > kMost)
        fail("--size: '{}' is not of the form 768x512", size);
    }
  }
  sampling.steps = steps;
  sampling.solver = solver;
  sampling.guidance = guidance;
  sampling.seed = seed;
  sampling.dtype = dtype == "bf16" ? at::kBFloat16 : at::kFloat;
  sampling.captions = !no_captions;
  sampling.cache =
      cache.empty() ? std::filesystem::path(out) / "cache" : std::filesystem::path(cache);
  return sampling;
}

void add_eval_options(CLI::App& app, EvalOptions& o, bool data) {
  app.add_option("--model", o.models, "folder of a model, or NAME=DIR; several to compare them")
      ->type_name("DIR")
      ->required();
  if (data) {
    app.add_option("--data", o.data, "folder of recordings")->type_name("DIR")->required();
    app.add_option("--count", o.count, "the first so many clips; all if not given")
        ->type_name("N")
        ->check(CLI::Range(1, 1000000));
  }
  app.add_option("--out", o.out, "folder of the report; an unfinished one is continued")
      ->type_name("DIR")
      ->required();
  if (data) {
    app.add_option("--cache", o.cache,
                   "folder for encoded recordings, which runs may share; OUT/cache if not given")
        ->type_name("DIR");
  }
  add_shard_option(app, o.shard);
  app.add_option("--size", o.size, "pixels; what the first model was made for if not given")
      ->type_name("WxH");
  app.add_option("--steps", o.steps, "of the solver; the model's own if not given")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  app.add_option("--solver", o.solver, "of the flow")->check(CLI::IsMember(sample::solver_names()));
  app.add_option("--guidance", o.guidance, "towards the caption")
      ->type_name("X")
      ->check(CLI::Range(0.0, 100.0));
  app.add_option("--seed", o.seed, "of the noise")->type_name("N")->capture_default_str();
  app.add_option("--dtype", o.dtype, "type of the transformer's products")
      ->check(CLI::IsMember(std::vector<std::string>{"fp32", "bf16"}))
      ->capture_default_str();
  app.add_flag("--no-captions", o.no_captions, "do not prompt with the recordings' captions");
}

void run_eval(eval::Suite& suite, const EvalOptions& options) {
  const Shard part = parse_shard(options.shard);
  const int64_t missing = eval::run_suite(suite, {options.out, part.index, part.count});
  if (missing > 0) return;
  fmt::print("{}\n", (std::filesystem::path(options.out) / "report.html").string());
}

}  // namespace loci::app
