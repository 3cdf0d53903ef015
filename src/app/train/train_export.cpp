// SPDX-License-Identifier: Apache-2.0
// loci train export
#include "loci/app/train/train_export.h"

#include <memory>
#include <string>

#include "loci/app/cli/command.h"
#include "loci/base/log.h"
#include "loci/train/transformer/export_model.h"

namespace loci::app {

namespace {

struct Options {
  std::string run, out, vae, dtype = "bf16";
  bool last = false, replace = false;
};

void run_export(const Options& options) {
  train::export_model(options.run, options.out,
                      {.vae = options.vae,
                       .dtype = options.dtype == "bf16" ? at::kBFloat16 : at::kFloat,
                       .ema = !options.last,
                       .replace = options.replace});
  log_info("wrote {}", options.out);
}

}  // namespace

void add_train_export(CLI::App& app) {
  app.description("Create a model folder from the newest checkpoint of a training run");
  auto options = std::make_shared<Options>();
  app.add_option("run", options->run, "folder of the run")->required();
  app.add_option("--out", options->out, "model folder to create")->required();
  app.add_option("--vae", options->vae,
                 "folder of the autoencoder, copied to vae/ of the model folder");
  app.add_option("--dtype", options->dtype, "data type of the weights")
      ->check(one_of({"bf16", "fp32"}))
      ->capture_default_str();
  app.add_flag("--last", options->last, "export the last weights instead of the EMA weights");
  app.add_flag("--replace", options->replace, "replace the folder if it exists");
  examples(app, {{"loci train export runs/mini --vae runs/mini-vae/vae --out models/mine",
                  "a model folder for loci generate"}});
  app.callback([options] { run_export(*options); });
}

}  // namespace loci::app
