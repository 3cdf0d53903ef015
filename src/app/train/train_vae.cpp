// SPDX-License-Identifier: Apache-2.0
// loci train vae
#include "loci/app/train/train_vae.h"

#include <memory>

#include "loci/app/cli/command.h"
#include "loci/app/train/train_job.h"
#include "loci/kernels/machine/block_cache.h"
#include "loci/train/autoencoder/vae_task.h"
#include "loci/train/distributed/communicator.h"
#include "loci/train/loop/training_loop.h"

namespace loci::app {

namespace {

void run_train_vae(const TrainJob& job) {
  const auto recipe = train::VaeRecipe::from_json(job.recipe(), job.config);
  if (job.run_ranks({"train", "vae"})) return;
  kernels::keep_tensor_memory();
  const std::unique_ptr<train::Communicator> communicator =
      train::make_communicator_from_environment();
  train::VaeTask task(recipe, job.out, *communicator);
  train::TrainingLoop(recipe.loop, task, job.out, job.resume, *communicator).run();
}

}  // namespace

void add_train_vae(CLI::App& app) {
  app.description("Train a video autoencoder on procedural scenes or a folder of videos");
  auto job = std::make_shared<TrainJob>();
  add_train_job(app, *job, "JSON file with the model, data, loss and training options",
                "folder of the run for checkpoints, metrics and vae/",
                "override a key of the config, such as data.folder=videos; repeatable");
  app.get_option("config")->required();
  app.get_option("--out")->required();
  examples(app, {{"loci train vae configs/mini-vae.json --out runs/mini-vae --ranks 2",
                  "the demo model's autoencoder with two processes of one thread each"},
                 {"loci train vae configs/mini-vae.json --out runs/mine --set data.folder=videos",
                  "train on your own videos"}});
  app.callback([job] { run_train_vae(*job); });
}

}  // namespace loci::app
