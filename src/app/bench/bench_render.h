// SPDX-License-Identifier: Apache-2.0
// The child command `loci bench render`.
#pragma once

#include <CLI/CLI.hpp>

namespace loci::app {

void add_bench_render(CLI::App& app);

}  // namespace loci::app
