// SPDX-License-Identifier: Apache-2.0
// Runs a suite: its clips divided among processes, each clip's result in a file that appears whole,
// what is there already kept, and the report when nothing is missing.
#pragma once

#include <cstdint>
#include <filesystem>

#include "loci/eval/suites/suite.h"

namespace loci::eval {

struct RunOptions {
  std::filesystem::path out;
  // This process measures every shards-th clip, starting with number `shard`.
  int64_t shard = 0, shards = 1;
};

// `out` gets manifest.json (the suite's settings; a folder of others is bad input), parts/ and, by
// whichever process finds all parts there, the report. Gives the parts that are still missing.
int64_t run_suite(Suite& suite, const RunOptions& options);

// The parts that are there, groups first, then clips, in the suite's order.
std::vector<PartResult> read_parts(const Suite& suite, const std::filesystem::path& out);

// A name of files and folders: what is not a letter, digit, dot or dash becomes an underscore, and
// a hash keeps names apart that this would merge.
std::string file_name(const std::string& name);

}  // namespace loci::eval
