// SPDX-License-Identifier: Apache-2.0
// Writes the files that are generated from the field tables of the protocol, or checks that they
// are current.
#include <cstdio>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/serve/protocol/generate/generate.h"

namespace {

namespace fs = std::filesystem;

// False if `check` is set and the file differs from `expected`.
bool update(const fs::path& file, const std::string& expected, bool check) {
  const std::string current = fs::exists(file) ? loci::read_file(file) : "";
  if (current == expected) return true;
  if (check) {
    fmt::print(stderr, "{} is not current; run `ninja -C build/release protocol`\n", file.string());
    return false;
  }
  loci::write_file(file, expected);
  fmt::print("wrote {}\n", file.string());
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count == 3 ? arguments[1] : "";
  if (mode != "--write" && mode != "--check") {
    fmt::print(stderr, "usage: loci_protocol_files --write|--check REPOSITORY\n");
    return 2;
  }
  try {
    const fs::path repository = arguments[2];
    const bool check = mode == "--check";
    const fs::path page = repository / "docs/protocol.md";
    const bool types = update(repository / "web/src/net/protocol.ts",
                              loci::serve::typescript_of_protocol(), check);
    const bool tables = update(page, loci::serve::update_markdown(loci::read_file(page)), check);
    return types && tables ? 0 : 1;
  } catch (const loci::Error& error) {
    fmt::print(stderr, "loci_protocol_files: {}\n", error.what());
    return 1;
  }
}
