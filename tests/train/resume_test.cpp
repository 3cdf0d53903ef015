// SPDX-License-Identifier: Apache-2.0
// Locked run folders, damaged checkpoints, and recipes that change when a run is resumed.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/model/weights/weights.h"
#include "loci/train/loop/run_folder.h"

#include "tests/base/damage.h"
#include "tests/base/expect_error.h"
#include "toy_clips.h"
#include "training_runs.h"

namespace loci::train {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Resume : public ::testing::Test {
 protected:
  Resume() {
    write_toy_clips(folder_ / "clips", 4, 13);
    recipe_ = toy_recipe(folder_ / "clips");
    recipe_["batch"] = 1;
    recipe_["checkpoint_updates"] = 2;
  }
  ~Resume() override { fs::remove_all(folder_); }

  std::unique_ptr<TransformerRun> open(const std::string& name, bool resume) {
    return std::make_unique<TransformerRun>(TransformerRecipe::from_json(recipe_, "toy"),
                                            folder_ / name, resume, *single_);
  }
  // Returns the messages of the run.
  std::string train(const std::string& name, int64_t updates, bool resume) {
    recipe_["updates"] = updates;
    ::testing::internal::CaptureStderr();
    open(name, resume)->loop.run();
    return ::testing::internal::GetCapturedStderr();
  }
  fs::path checkpoint(const std::string& run, int64_t update) const {
    return folder_ / run / fmt::format("checkpoint-{:08}", update);
  }

  const fs::path folder_ = fresh_folder("resume");
  std::unique_ptr<Communicator> single_ = make_single_communicator();
  Json recipe_;
};

TEST_F(Resume, ASecondTrainerIsToldWhoHoldsTheFolder) {
  std::unique_ptr<TransformerRun> first = open("run", false);
  first->loop.update();
  for (const bool resume : {false, true}) {
    EXPECT_BAD_INPUT(open("run", resume),
                     AllOf(HasSubstr("is in use by process " + std::to_string(::getpid())),
                           HasSubstr("loci_train_tests"), HasSubstr("choose another --out")));
  }
  EXPECT_EQ(RunFolder(folder_ / "run").newest(), std::nullopt);
  first.reset();
  open("run", true);
}

TEST_F(Resume, ContinuesFromTheNewestIntactCheckpoint) {
  train("whole", 6, false);
  // A flipped bit, a truncated file, and a missing file.
  const std::vector<std::pair<std::string, std::function<void(const fs::path&)>>> damages = {
      {"model.safetensors", testing::flip_bit},
      {"ema.safetensors", testing::flip_bit},
      {"optimizer.safetensors", testing::truncate_to_nothing},
      {"config.json", testing::flip_bit},
      {"state.json", testing::truncate_to_nothing},
      {"model.safetensors", [](const fs::path& file) { fs::remove(file); }}};
  for (const auto& [name, damage] : damages) {
    SCOPED_TRACE(name);
    fs::remove_all(folder_ / "run");
    train("run", 4, false);
    damage(checkpoint("run", 4) / name);
    const std::string messages = train("run", 6, true);
    EXPECT_THAT(messages, AllOf(HasSubstr(checkpoint("run", 4).string() + " is damaged"),
                                HasSubstr(name), HasSubstr("continuing with update 2")));
    EXPECT_TRUE(fs::exists(checkpoint("run", 4).string() + ".damaged"));
    for (const char* part : {"model", "ema", "optimizer"}) {
      const std::string file = std::string(part) + ".safetensors";
      EXPECT_EQ(read_file(checkpoint("run", 6) / file), read_file(checkpoint("whole", 6) / file));
    }
  }
}

TEST_F(Resume, ADamagedCheckpointDoesNotReplaceAnIntactOne) {
  recipe_["keep_checkpoints"] = 1;
  recipe_["checkpoint_updates"] = 3;
  train("run", 5, false);
  fs::rename(checkpoint("run", 5), folder_ / "away");
  train("run", 3, true);
  fs::rename(folder_ / "away", checkpoint("run", 5));
  testing::flip_bit(checkpoint("run", 5) / "ema.safetensors");
  train("run", 4, true);
  EXPECT_TRUE(fs::exists(checkpoint("run", 4)));
}

TEST_F(Resume, RefusesARunWithoutAnIntactCheckpoint) {
  train("run", 4, false);
  for (const int64_t update : {2, 4}) {
    testing::flip_bit(checkpoint("run", update) / "model.safetensors");
  }
  EXPECT_BAD_INPUT(open("run", true), AllOf(HasSubstr("all checkpoints are damaged"),
                                            HasSubstr("does not match its checksum")));
  EXPECT_TRUE(fs::exists(checkpoint("run", 4)));
}

TEST_F(Resume, ReadsCheckpointsWithoutChecksums) {
  train("run", 2, false);
  write_file(checkpoint("run", 2) / "state.json", R"({"update": 2})");
  EXPECT_EQ(open("run", true)->loop.updates_done(), 2);
}

TEST_F(Resume, RefusesARecipeOfAnotherRun) {
  train("run", 2, false);
  const Json before = recipe_;
  const auto refused = [&](const std::string& setting, const auto& matcher) {
    recipe_ = before;
    apply_setting(recipe_, setting);
    EXPECT_BAD_INPUT(open("run", true), matcher);
  };
  refused("seed=4",
          AllOf(HasSubstr("has seed 3, the recipe 4"), HasSubstr("choose another --out")));
  refused("batch=3", AllOf(HasSubstr("has used 2 samples in 2 updates"), HasSubstr("means 6"),
                           HasSubstr("\"from\": 2")));
  refused("optimizer.kind=muon", HasSubstr("has optimizer.kind adamw, the recipe muon"));
  // These do not change the shape of any parameter.
  refused("model.eps=1e-3", HasSubstr("model.eps"));
  refused("model.chunk_size=1", HasSubstr("model.chunk_size 2, the recipe 1"));
}

TEST_F(Resume, ReportsOtherChangesOfTheRecipe) {
  train("run", 2, false);
  EXPECT_THAT(train("run", 2, true), Not(HasSubstr("another recipe")));
  recipe_["optimizer"]["clip"] = 0.5;
  recipe_["phases"].push_back(recipe_["phases"][0]);
  recipe_["phases"][1]["from"] = 2;
  recipe_["phases"][1]["batch"] = 2;
  const std::string messages = train("run", 3, true);
  EXPECT_THAT(messages,
              AllOf(HasSubstr("resuming at update 2 with another recipe"),
                    HasSubstr("optimizer.clip: 1, now 0.5"), HasSubstr("updates: 2, now 3"),
                    HasSubstr("phases.1.batch: not set, now 2")));
  EXPECT_EQ(RunFolder(folder_ / "run").newest(), 3);
}

TEST_F(Resume, ChangedWeightFilesDoNotChangeARun) {
  const TransformerRecipe config = TransformerRecipe::from_json(recipe_, "toy");
  const auto write_model = [&] {
    const model::Transformer original(config.model, std::make_shared<model::Parameters>());
    model::save_model(config.model, original.parameters().all(), folder_ / "model",
                      {.dtype = at::kFloat, .existing = AtomicDirectory::Existing::kReplace});
  };
  recipe_["start"] = (folder_ / "model").string();
  recipe_["distill"] = {{"teacher", (folder_ / "model").string()}};
  const auto losses = [&](const std::string& name, const auto& change) {
    write_model();
    const std::unique_ptr<TransformerRun> run = open(name, false);
    std::vector<double> values = {run->loop.update().losses.front().second};
    testing::change_weights(folder_ / "model", change);
    values.push_back(run->loop.update().losses.front().second);
    return values;
  };
  const std::vector<double> undisturbed = losses("a", [](const fs::path&) {});
  EXPECT_EQ(losses("b", testing::overwrite_in_place), undisturbed);
  EXPECT_EQ(losses("c", testing::truncate_to_nothing), undisturbed);
}

}  // namespace
}  // namespace loci::train
