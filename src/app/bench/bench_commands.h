// SPDX-License-Identifier: Apache-2.0
// The subcommands of `loci bench`: one file bench_<name>.cpp each. The files measure_<name>.cpp
// hold measurements that take more than a few lines.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

namespace loci::app {

void add_bench_block(CLI::App& app);
void add_bench_ops(CLI::App& app);
void add_bench_render(CLI::App& app);
void add_bench_stream(CLI::App& app);
void add_bench_train(CLI::App& app);
void add_bench_vae(CLI::App& app);

// Adds --kv and --staging, the storage of keys and values.
void add_kv_options(CLI::App& app, std::string& kv, int64_t& staging_mib);

}  // namespace loci::app
