// SPDX-License-Identifier: Apache-2.0
// loci world stats
#pragma once

#include <CLI/CLI.hpp>

namespace loci::app {

void add_world_stats(CLI::App& app);

}  // namespace loci::app
