// SPDX-License-Identifier: Apache-2.0
// Runs the scripts of this folder that repeat a benchmark in PyTorch.
#pragma once

#include <string>

#include "loci/base/config.h"

namespace loci::app {

// Throws a machine error if the Python or the script does not exist, or the Python has no torch.
void check_torch_script(const std::string& python, const std::string& script);

// Returns the JSON object that the script prints last. `arguments` is part of a shell command line.
Json run_torch_script(const std::string& python, const std::string& script,
                      const std::string& arguments);

}  // namespace loci::app
