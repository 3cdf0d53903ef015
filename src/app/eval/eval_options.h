// SPDX-License-Identifier: Apache-2.0
// Options of all suites of `loci eval`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "loci/eval/suites/eval_models.h"
#include "loci/eval/suites/suite.h"

namespace loci::app {

struct EvalOptions {
  std::vector<std::string> models;
  std::string data, out, cache, shard, size, dtype = "fp32";
  std::optional<int64_t> steps, count;
  std::optional<std::string> solver;
  std::optional<double> guidance;
  uint64_t seed = 42;
  std::vector<uint64_t> seeds;  // several; empty: `seed`
  std::vector<std::string> predictions;
  std::optional<std::string> weight;
  bool no_captions = false;

  eval::Sampling sampling() const;
};

// Adds --data and --count.
void add_data_options(CLI::App& app, EvalOptions& options);
// Adds --out, --shard and --weight.
void add_out_options(CLI::App& app, EvalOptions& options);
// Adds --model, --out, --shard and the sampling options; with `data` also --data, --count and
// --cache.
void add_eval_options(CLI::App& app, EvalOptions& options, bool data = true);

// Adds --seeds, for suites that average over several seeds.
void add_seeds_option(CLI::App& app, EvalOptions& options);
// Adds --predictions and makes --model optional. `where` says where the video of a clip is.
void add_predictions_option(CLI::App& app, EvalOptions& options, const std::string& where);

// Adds --history, the history policy of a suite that compares no policies.
void add_history_option(CLI::App& app, std::optional<std::string>& history);

// Runs the suite and prints the path of the report when all parts are done.
void run_eval(eval::Suite& suite, const EvalOptions& options);

}  // namespace loci::app
