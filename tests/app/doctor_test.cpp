// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/app/tools/models.h"
#include "loci/base/config.h"
#include "loci/base/file.h"
#include "loci/base/text.h"
#include "loci/kernels/machine/cpu_features.h"

#include "tests/app/run_command.h"

namespace loci::app {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Doctor, PrintsOneLinePerCheck) {
  const Outcome outcome = run_command({"doctor"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::vector<std::string> names;
  for (const std::string_view line : split(trim(outcome.out), '\n')) {
    const auto words = split_whitespace(line);
    ASSERT_GE(words.size(), 3U) << line;
    EXPECT_THAT(std::string(words[0]), ::testing::AnyOf("ok", "note", "missing"));
    names.emplace_back(words[1]);
  }
  EXPECT_THAT(names, ElementsAre("processor", "kernels", "amx", "threads", "memory", "libtorch",
                                 "ffmpeg", "models", "disk"));
}

TEST(Doctor, PrintsAllDetailsAsJson) {
  const Outcome outcome = run_command({"doctor", "--json", "--threads", "1"});
  const Json report = parse_json(outcome.out, "doctor");
  EXPECT_EQ(report["complete"], outcome.code == 0);
  Json details;
  for (const Json& check : report["checks"]) {
    EXPECT_FALSE(check["summary"].get<std::string>().empty());
    details[check["name"].get<std::string>()] = check["details"];
  }
  EXPECT_EQ(details["kernels"]["level"], kernels::name_of(kernels::isa_level()));
  EXPECT_EQ(details["threads"]["used"], 1);
  EXPECT_GT(details["memory"]["total_bytes"], 0);
  EXPECT_THAT(details["libtorch"]["version"].get<std::string>(), ::testing::StartsWith("2."));
  EXPECT_EQ(details["ffmpeg"]["libx264"], true);
}

TEST(Doctor, FindsModels) {
  const fs::path root =
      fs::path(::testing::TempDir()) / ("loci_doctor_test_" + std::to_string(::getpid()));
  fs::create_directories(root / "big");
  fs::create_directories(root / "empty");
  fs::create_directories(root / "any");
  write_file(root / "big" / "config.json", "{}");
  write_file(root / "any" / "config.json", "{}");
  ::setenv("LOCI_MODELS", root.c_str(), 1);
  EXPECT_THAT(find_models(), ElementsAre(root / "any", root / "big"));
  EXPECT_THAT(run_command({"doctor"}).out, HasSubstr((root / "big").string()));
  ::setenv("LOCI_MODELS", (root / "big").c_str(), 1);  // is itself a model folder
  EXPECT_THAT(find_models(), ElementsAre(root / "big"));
  ::setenv("LOCI_MODELS", (root / "none").c_str(), 1);
  EXPECT_TRUE(find_models().empty());
  ::unsetenv("LOCI_MODELS");
  fs::remove_all(root);
}

}  // namespace
}  // namespace loci::app
