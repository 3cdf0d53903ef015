// SPDX-License-Identifier: Apache-2.0
// Writes a tiny model folder, for tests of the server as a program.
#include <cstdio>

#include "tests/sample/tiny_folder.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  loci::testing::make_tiny_folder(argv[1], 1);
  return 0;
}
