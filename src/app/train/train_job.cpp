// SPDX-License-Identifier: Apache-2.0
#include "loci/app/train/train_job.h"

#include "loci/train/distributed/launcher.h"

namespace loci::app {

Json TrainJob::recipe() const {
  Json json = load_json(config);
  for (const std::string& setting : settings) apply_setting(json, setting);
  return json;
}

bool TrainJob::run_ranks(const std::vector<std::string>& command) const {
  if (ranks <= 1) return false;
  // Each rank runs the same job without --ranks.
  std::vector<std::string> arguments = command;
  arguments.insert(arguments.end(), {config, "--out", out});
  for (const std::string& setting : settings) {
    arguments.insert(arguments.end(), {"--set", setting});
  }
  if (resume) arguments.emplace_back("--resume");
  const int code = train::run_local_ranks(ranks, arguments);
  if (code != 0) throw CLI::RuntimeError(code);
  return true;
}

void add_train_job(CLI::App& app, TrainJob& job, const std::string& what_config,
                   const std::string& what_out, const std::string& what_set) {
  app.add_option("config", job.config, what_config);
  app.add_option("--out", job.out, what_out);
  app.add_option("--set", job.settings, what_set);
  app.add_flag("--resume", job.resume, "continue from the newest checkpoint in the folder");
  app.add_option("--ranks", job.ranks, "number of processes to start on this machine")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

}  // namespace loci::app
