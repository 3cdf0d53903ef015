// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "loci/app/cli/command.h"
#include "loci/base/interrupt.h"
#include "loci/base/machine.h"

int main(int argc, char** argv) {
  loci::catch_interrupts();
  loci::return_large_blocks();
  return loci::app::run(std::vector<std::string>(argv + 1, argv + argc));
}
