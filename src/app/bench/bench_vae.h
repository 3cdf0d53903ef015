// SPDX-License-Identifier: Apache-2.0
// The child command `loci bench vae`.
#pragma once

#include <CLI/CLI.hpp>

namespace loci::app {

void add_bench_vae(CLI::App& app);

}  // namespace loci::app
