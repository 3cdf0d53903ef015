// SPDX-License-Identifier: Apache-2.0
// loci train vae
#pragma once

#include <CLI/CLI.hpp>

namespace loci::app {

void add_train_vae(CLI::App& app);

}  // namespace loci::app
