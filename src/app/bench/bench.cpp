// SPDX-License-Identifier: Apache-2.0
// loci bench
#include "loci/app/bench/bench_block.h"
#include "loci/app/bench/bench_ops.h"
#include "loci/app/bench/bench_render.h"
#include "loci/app/bench/bench_stream.h"
#include "loci/app/bench/bench_train.h"
#include "loci/app/bench/bench_vae.h"
#include "loci/app/cli/command.h"

namespace loci::app {

void add_bench(CLI::App& app) {
  app.description("Measure how fast this machine does the work");
  examples(app, {{"loci bench ops", "the kernels on this machine"},
                 {"loci bench stream --out stream", "time and memory against length"}});
  add_bench_block(*app.add_subcommand("block"));
  add_bench_ops(*app.add_subcommand("ops"));
  add_bench_render(*app.add_subcommand("render"));
  add_bench_stream(*app.add_subcommand("stream"));
  add_bench_train(*app.add_subcommand("train"));
  add_bench_vae(*app.add_subcommand("vae"));
}

}  // namespace loci::app
