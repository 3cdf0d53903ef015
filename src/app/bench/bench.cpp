// SPDX-License-Identifier: Apache-2.0
// loci bench
#include "loci/app/bench/bench_commands.h"
#include "loci/app/cli/command.h"
#include "loci/memory/kv/kv_slots.h"

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

void add_kv_options(CLI::App& app, std::string& kv, int64_t& staging_mib) {
  app.add_option("--kv", kv, "storage format of keys and values")
      ->check(one_of(memory::kv_format_names()))
      ->capture_default_str();
  app.add_option("--staging", staging_mib,
                 "maximum memory in MiB for keys and values converted in advance; 0 = no limit")
      ->type_name("MIB")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
}

}  // namespace loci::app
