// SPDX-License-Identifier: Apache-2.0
// loci bench block: blocks of a model at a chunk's step, and what they make of a whole forward.
#pragma once

#include <CLI/CLI.hpp>

namespace loci::app {

void add_bench_block(CLI::App& app);

}  // namespace loci::app
