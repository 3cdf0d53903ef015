// SPDX-License-Identifier: Apache-2.0
// loci bench
#include "loci/app/bench/bench_commands.h"
#include "loci/app/cli/command.h"

namespace loci::app {

void add_bench(CLI::App& app) {
  app.description("Measure speed and memory on this machine");
  examples(app,
           {{"loci bench ops", "speed of each kernel"},
            {"loci bench stream --out stream", "time and memory as a function of video length"}});
  add_bench_block(*app.add_subcommand("block"));
  add_bench_ops(*app.add_subcommand("ops"));
  add_bench_render(*app.add_subcommand("render"));
  add_bench_stream(*app.add_subcommand("stream"));
  add_bench_train(*app.add_subcommand("train"));
  add_bench_vae(*app.add_subcommand("vae"));
}

}  // namespace loci::app
