// SPDX-License-Identifier: Apache-2.0
// Writes the model folder that the browser tests walk in. Usage: loci_web_model FOLDER
#include "tests/sample/tiny_folder.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::filesystem::remove_all(argv[1]);
  loci::testing::make_tiny_folder(argv[1], 1);
  return 0;
}
