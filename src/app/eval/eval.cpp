// SPDX-License-Identifier: Apache-2.0
// loci eval
#include "loci/app/cli/command.h"
#include "loci/app/eval/eval_suites.h"

namespace loci::app {

void add_eval(CLI::App& app) {
  app.description("Evaluate models and write reports with tables, plots and pictures");
  examples(app, {{"loci eval arena --model models/mini --data walks --out arena",
                  "compare history policies with the same budget of frames"}});
  add_eval_memory(*app.add_subcommand("memory"));
  add_eval_revisit(*app.add_subcommand("revisit"));
  add_eval_arena(*app.add_subcommand("arena"));
  add_eval_drift(*app.add_subcommand("drift"));
  add_eval_return(*app.add_subcommand("return"));
  add_eval_camera(*app.add_subcommand("camera"));
  add_eval_probe(*app.add_subcommand("probe"));
  add_eval_attention(*app.add_subcommand("attention"));
  add_eval_capacity(*app.add_subcommand("capacity"));
  add_eval_cost(*app.add_subcommand("cost"));
  add_eval_export(*app.add_subcommand("export"));
}

}  // namespace loci::app
