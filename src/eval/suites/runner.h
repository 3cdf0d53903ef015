// SPDX-License-Identifier: Apache-2.0
// Runs a suite. Clips are divided among processes, every clip result is written atomically to its
// own file, and existing results are kept. A clip that fails is listed in the report, and the run
// goes on with the next one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "loci/eval/suites/suite.h"

namespace loci::eval {

struct RunOptions {
  std::filesystem::path out;
  // This process measures the clips shard, shard + shards, shard + 2 * shards, …
  int64_t shard = 0, shards = 1;
  std::optional<Weight> weight = {};  // default: the suite's
  // The first process writes a report of the existing results if this time has passed since the
  // last one.
  double report_seconds = 300;
};

// Writes manifest.json (the suite's settings) and parts/ into `out`; a folder with other settings
// is bad input. The process that finds no result missing, except those of failed clips, writes the
// report. Failed clips of an earlier run are measured again. If every clip of a group fails, or an
// internal error occurs, the run fails. Returns the number of missing results.
int64_t run_suite(Suite& suite, const RunOptions& options);

// Reads the existing parts, ordered by group, then by clip, both in the suite's order.
std::vector<PartResult> read_parts(const Suite& suite, const std::filesystem::path& out);

// Converts a name to a file name: characters other than letters, digits, dots and dashes become
// underscores, and a hash is appended to changed or long names, so that file names stay unique.
std::string file_name(const std::string& name);

}  // namespace loci::eval
