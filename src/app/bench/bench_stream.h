// SPDX-License-Identifier: Apache-2.0
// The child command `loci bench stream`.
#pragma once

#include <CLI/CLI.hpp>

namespace loci::app {

void add_bench_stream(CLI::App& app);

}  // namespace loci::app
