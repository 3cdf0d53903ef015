// SPDX-License-Identifier: Apache-2.0
// What the commands that train have in common: a recipe, a folder, and ranks to share the work.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "loci/base/config.h"

namespace loci::app {

struct TrainJob {
  std::string config;
  std::string out;
  std::vector<std::string> settings;
  bool resume = false;
  int ranks = 1;

  // The recipe with its settings.
  Json recipe() const;
  // Runs `command` once a rank and returns true when several are asked for; an exit code other than
  // 0 is passed on.
  bool run_ranks(const std::vector<std::string>& command) const;
};

void add_train_job(CLI::App& app, TrainJob& job, const std::string& what_config,
                   const std::string& what_out, const std::string& what_set);

}  // namespace loci::app
