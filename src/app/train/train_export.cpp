// SPDX-License-Identifier: Apache-2.0
// loci train export
#include "loci/app/train/train_export.h"

#include <memory>
#include <string>

#include "loci/app/cli/command.h"
#include "loci/base/log.h"
#include "loci/train/loop/export_model.h"

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
                       .averaged = !options.last,
                       .replace = options.replace});
  log_info("{} is ready", options.out);
}

}  // namespace

void add_train_export(CLI::App& app) {
  app.description("Make a model folder from a training run's newest checkpoint");
  auto options = std::make_shared<Options>();
  app.add_option("run", options->run, "folder of the run")->required();
  app.add_option("--out", options->out, "model folder to make")->required();
  app.add_option("--vae", options->vae, "folder of the autoencoder, to put beside");
  app.add_option("--dtype", options->dtype, "type of the weights")
      ->check(CLI::IsMember({"bf16", "fp32"}))
      ->capture_default_str();
  app.add_flag("--last", options->last, "the last weights instead of the averaged ones");
  app.add_flag("--replace", options->replace, "replace the folder if it exists");
  examples(app, {{"loci train export runs/mini --vae runs/mini-vae/vae --out models/mine",
                  "a folder for loci generate"}});
  app.callback([options] { run_export(*options); });
}

}  // namespace loci::app
