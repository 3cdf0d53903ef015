// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/config.h"
#include "loci/base/file.h"
#include "loci/io/media/video.h"

#include "tests/app/run_command.h"
#include "tests/model/tiny_decoder_file.h"
#include "tests/sample/tiny_folder.h"

namespace loci::app {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class DemoCommand : public ::testing::Test {
 protected:
  DemoCommand() { testing::make_tiny_folder(folder_ / "models" / "tiny", 1); }
  ~DemoCommand() override { fs::remove_all(folder_); }

  Outcome demo(const fs::path& model) {
    return run_command({"demo", "--model", model.string(), "--out", (folder_ / "out").string(),
                        "--context", "4", "--seconds", "2", "--quiet"});
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("loci_demo_test_" + std::to_string(::getpid()));
};

TEST_F(DemoCommand, WritesAVideoAndPrintsItsPath) {
  const fs::path model = folder_ / "models" / "tiny";
  const Outcome outcome = demo(model);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("s of recorded context"));
  EXPECT_THAT(outcome.out, HasSubstr("PSNR"));
  EXPECT_THAT(outcome.out, HasSubstr("loci serve --model " + model.string()));
  // The first frame and six seconds at 16 frames per second.
  io::VideoReader video(folder_ / "out" / "walk.mp4");
  int64_t frames = 0;
  while (video.next()) ++frames;
  EXPECT_EQ(frames, 97);
}

TEST_F(DemoCommand, BeginsWithTheTourOfTheModelsFamily) {
  const fs::path model = folder_ / "models" / "tiny";
  Json defaults = load_json(model / "generation.json");
  defaults["family"] = "plaza";
  write_file(model / "generation.json", defaults.dump());
  const fs::path decoder = folder_ / "taew2_2.safetensors";
  testing::write_tiny_decoder(decoder, 3, 1);
  const Outcome outcome =
      run_command({"demo", "--model", model.string(), "--out", (folder_ / "out").string(),
                   "--seconds", "2", "--quiet", "--decoder", decoder.string()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("a sunny square"));
  EXPECT_THAT(outcome.out, HasSubstr("25 s of recorded context"));
}

TEST_F(DemoCommand, FindsItsModelOrReportsThatItIsMissing) {
  ::setenv("LOCI_MODELS", (folder_ / "models").c_str(), 1);
  const Outcome found = demo("elsewhere/tiny");
  ::unsetenv("LOCI_MODELS");
  EXPECT_EQ(found.code, 0) << found.err;
  const Outcome none = demo("elsewhere/absent");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("elsewhere/absent is not a model folder"));
}

}  // namespace
}  // namespace loci::app
