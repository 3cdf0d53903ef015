// SPDX-License-Identifier: Apache-2.0
// Scripts under bench/ that do in PyTorch what a benchmark does here.
#pragma once

#include <string>

#include "loci/base/config.h"

namespace loci::app {

// A Python or script that is not there, or a Python without torch, is the machine's error: known
// before anything is measured.
void check_torch_script(const std::string& python, const std::string& script);

// What the script prints on its last line, JSON. `arguments` are words of a shell.
Json run_torch_script(const std::string& python, const std::string& script,
                      const std::string& arguments);

}  // namespace loci::app
