// SPDX-License-Identifier: Apache-2.0
// The subcommand `loci train export`.
#pragma once

#include <CLI/CLI.hpp>

namespace loci::app {

void add_train_export(CLI::App& app);

}  // namespace loci::app
