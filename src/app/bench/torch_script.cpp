// SPDX-License-Identifier: Apache-2.0
#include "loci/app/bench/torch_script.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "loci/base/error.h"

namespace loci::app {

void check_torch_script(const std::string& python, const std::string& script) {
  for (const std::string& file : {python, script}) {
    if (!std::filesystem::exists(file)) {
      fail_machine(
          "{} does not exist; run from the repository after make build, or give --python and "
          "--script",
          file);
    }
  }
  if (std::system(fmt::format("'{}' -W ignore -c 'import torch' 2>/dev/null", python).c_str()) !=
      0) {
    fail_machine("{} has no torch; give a Python with torch as --python", python);
  }
}

Json run_torch_script(const std::string& python, const std::string& script,
                      const std::string& arguments) {
  const std::string command = fmt::format("'{}' -W ignore '{}' {}", python, script, arguments);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) fail_machine("cannot start {}", python);
  std::string output;
  std::array<char, 4096> part{};
  while (const size_t count = fread(part.data(), 1, part.size(), pipe.get())) {
    output.append(part.data(), count);
  }
  // The last line that begins an object.
  const size_t begin = output.rfind("\n{");
  if (!output.starts_with('{') && begin == std::string::npos) {
    fail_machine("{} printed no result", script);
  }
  return parse_json(begin == std::string::npos ? output : output.substr(begin + 1), script);
}

}  // namespace loci::app
