// SPDX-License-Identifier: Apache-2.0
// loci train vae
#include "loci/app/train_vae.h"

#include <memory>
#include <string>
#include <vector>

#include "loci/app/command.h"
#include "loci/base/config.h"
#include "loci/train/vae_trainer.h"

namespace loci::app {

namespace {

struct TrainVaeOptions {
  std::string config;
  std::string out;
  std::vector<std::string> settings;
  bool resume = false;
};

void run_train_vae(const TrainVaeOptions& options) {
  Json json = load_json(options.config);
  for (const std::string& setting : options.settings) apply_setting(json, setting);
  const auto config = train::VaeTrainConfig::from_json(json, options.config);
  train::VaeTrainer(config, options.out, options.resume).run();
}

}  // namespace

void add_train_vae(CLI::App& app) {
  app.description("Train a video autoencoder on procedural worlds or a folder of videos");
  auto options = std::make_shared<TrainVaeOptions>();
  app.add_option("config", options->config, "JSON file with model, data, loss and recipe")
      ->required();
  app.add_option("--out", options->out, "folder of the run: checkpoints, metrics and vae/")
      ->required();
  app.add_option("--set", options->settings, "override a key, e.g. --set data.folder=videos");
  app.add_flag("--resume", options->resume, "go on from the folder's newest checkpoint");
  examples(app, {{"loci train vae configs/mini-vae.json --out runs/mini-vae",
                  "the demo model's autoencoder"},
                 {"loci train vae configs/mini-vae.json --out runs/mine --set data.folder=videos",
                  "on your own videos"}});
  app.callback([options] { run_train_vae(*options); });
}

}  // namespace loci::app
