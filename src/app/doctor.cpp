// SPDX-License-Identifier: Apache-2.0
#include "loci/app/command.h"
namespace loci::app {
void add_doctor(CLI::App& app) { app.description("what this machine can do"); }
void add_trajectory(CLI::App& app) { app.description("camera paths"); }
}  // namespace loci::app
