// SPDX-License-Identifier: Apache-2.0
// loci world encode
#pragma once

#include <CLI/CLI.hpp>

namespace loci::app {

void add_world_encode(CLI::App& app);

}  // namespace loci::app
