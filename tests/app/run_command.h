// SPDX-License-Identifier: Apache-2.0
// Runs `loci` in this process and captures its output.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "loci/app/cli/command.h"

namespace loci::app {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

inline Outcome run_command(std::vector<std::string> arguments) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.code = run(std::move(arguments));
  outcome.out = ::testing::internal::GetCapturedStdout();
  outcome.err = ::testing::internal::GetCapturedStderr();
  return outcome;
}

}  // namespace loci::app
