// SPDX-License-Identifier: Apache-2.0
// Options of all training commands: config, output folder, and local ranks.
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

  // The config with all --set assignments applied.
  Json recipe() const;
  // With more than one rank: runs `command` in one process per rank and returns true. Throws
  // CLI::RuntimeError with the exit code of a failed rank.
  bool run_ranks(const std::vector<std::string>& command) const;
};

void add_train_job(CLI::App& app, TrainJob& job, const std::string& config_help,
                   const std::string& out_help, const std::string& set_help);

}  // namespace loci::app
