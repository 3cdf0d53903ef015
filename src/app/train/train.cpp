// SPDX-License-Identifier: Apache-2.0
// loci train
#include <memory>

#include "loci/app/cli/command.h"
#include "loci/app/train/train_export.h"
#include "loci/app/train/train_job.h"
#include "loci/app/train/train_vae.h"
#include "loci/kernels/machine/block_cache.h"
#include "loci/train/distributed/communicator.h"
#include "loci/train/loop/training_loop.h"
#include "loci/train/transformer/transformer_task.h"

namespace loci::app {

namespace {

void run_train(const TrainJob& job) {
  const auto recipe = train::TransformerRecipe::from_json(job.recipe(), job.config);
  if (job.run_ranks({"train"})) return;
  kernels::keep_tensor_memory();
  const std::unique_ptr<train::Communicator> communicator =
      train::make_communicator_from_environment(train::training_device(recipe.device));
  train::TransformerTask task(recipe, *communicator);
  train::TrainingLoop(recipe.loop, task, job.out, job.resume, *communicator).run();
}

}  // namespace

void add_train(CLI::App& app) {
  app.description("Train a world model by chunk-wise diffusion forcing");
  auto job = std::make_shared<TrainJob>();
  add_train_job(app, *job, "JSON file with the model, data and training options",
                "folder of the run for checkpoints and metrics",
                "override a key of the config, such as optimizer.clip=1; repeatable");
  examples(app,
           {{"loci train configs/mini.json --out runs/mini --ranks 2",
             "train with two processes of one thread each"},
            {"loci train configs/mini.json --out runs/mini --ranks 2 --resume",
             "continue a stopped run"},
            {"torchrun --no-python --nproc-per-node 2 loci train configs/mini.json --out runs/mini",
             "the same with torchrun"}});
  CLI::App* vae = app.add_subcommand("vae");
  add_train_vae(*vae);
  CLI::App* make_model = app.add_subcommand("export");
  add_train_export(*make_model);
  // config and --out are not marked as required, since the subcommands have their own.
  app.callback([job, &app] {
    if (!app.get_subcommands().empty()) return;
    if (job->config.empty()) throw CLI::RequiredError("config");
    if (job->out.empty()) throw CLI::RequiredError("--out");
    run_train(*job);
  });
}

}  // namespace loci::app
