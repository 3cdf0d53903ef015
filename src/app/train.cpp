// SPDX-License-Identifier: Apache-2.0
// loci train
#include <filesystem>
#include <string>
#include <vector>

#include "loci/app/command.h"
#include "loci/app/train_export.h"
#include "loci/app/train_vae.h"
#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/base/log.h"
#include "loci/base/progress.h"
#include "loci/train/communicator.h"
#include "loci/train/launcher.h"
#include "loci/train/train_config.h"
#include "loci/train/trainer.h"

namespace loci::app {

namespace {

struct TrainOptions {
  std::string config;
  std::string out;
  std::vector<std::string> settings;
  bool resume = false;
  int ranks = 1;
};

// The same job without --ranks, for each rank to run.
std::vector<std::string> rank_arguments(const TrainOptions& options) {
  std::vector<std::string> arguments = {"train", options.config, "--out", options.out};
  for (const std::string& setting : options.settings) {
    arguments.insert(arguments.end(), {"--set", setting});
  }
  if (options.resume) arguments.emplace_back("--resume");
  return arguments;
}

void run_train(const TrainOptions& options) {
  Json json = load_json(options.config);
  for (const std::string& setting : options.settings) apply_setting(json, setting);
  const train::TrainConfig config = train::TrainConfig::from_json(json, options.config);
  if (options.ranks > 1) {
    const int code = train::run_local_ranks(options.ranks, rank_arguments(options));
    if (code != 0) throw CLI::RuntimeError(code);
    return;
  }
  const std::unique_ptr<train::Communicator> communicator =
      train::make_communicator_from_environment(train::training_device(config.device));
  train::Trainer trainer(config, options.out, options.resume, *communicator);
  trainer.run();
}

}  // namespace

void add_train(CLI::App& app) {
  app.description("Train a world model by chunk-wise diffusion forcing");
  auto options = std::make_shared<TrainOptions>();
  app.add_option("config", options->config, "JSON file with model, data and recipe");
  app.add_option("--out", options->out, "folder of the run: checkpoints and metrics");
  app.add_option("--set", options->settings, "override a key, e.g. --set optimizer.clip=1");
  app.add_flag("--resume", options->resume, "go on from the folder's newest checkpoint");
  app.add_option("--ranks", options->ranks, "start this many processes on this machine")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  examples(app,
           {{"loci train configs/mini.json --out runs/mini --ranks 2",
             "two processes of one thread each"},
            {"loci train configs/mini.json --out runs/mini --ranks 2 --resume",
             "go on where the run was stopped"},
            {"torchrun --no-python --nproc-per-node 2 loci train configs/mini.json --out runs/mini",
             "the same under torchrun"}});
  CLI::App* vae = app.add_subcommand("vae");
  add_train_vae(*vae);
  CLI::App* make_model = app.add_subcommand("export");
  add_train_export(*make_model);
  // Not marked as required above: the subcommands have their own.
  app.callback([options, &app] {
    if (!app.get_subcommands().empty()) return;
    if (options->config.empty()) throw CLI::RequiredError("config");
    if (options->out.empty()) throw CLI::RequiredError("--out");
    run_train(*options);
  });
}

}  // namespace loci::app
