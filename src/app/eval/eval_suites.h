// SPDX-License-Identifier: Apache-2.0
// The subcommands of `loci eval`, one per suite.
#pragma once

#include <CLI/CLI.hpp>

namespace loci::app {

void add_eval_memory(CLI::App& app);
void add_eval_revisit(CLI::App& app);
void add_eval_arena(CLI::App& app);
void add_eval_drift(CLI::App& app);
void add_eval_return(CLI::App& app);
void add_eval_camera(CLI::App& app);
void add_eval_probe(CLI::App& app);
void add_eval_attention(CLI::App& app);
void add_eval_capacity(CLI::App& app);
void add_eval_cost(CLI::App& app);
void add_eval_export(CLI::App& app);

}  // namespace loci::app
