// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/model/weights/weights.h"
#include "loci/train/data/latent_folder.h"
#include "loci/train/loop/run_folder.h"
#include "loci/train/windows/generated_past.h"

#include "tests/base/expect_error.h"
#include "toy_clips.h"
#include "training_runs.h"

namespace loci::train {
namespace {

std::vector<double> logged_losses(const std::filesystem::path& run) {
  std::vector<double> losses;
  std::ifstream file(run / "metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    losses.push_back(Json::parse(line).at("loss").get<double>());
  }
  return losses;
}

class TransformerTraining : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fresh_folder("trainer");
    write_toy_clips(folder_ / "clips", 6, 13);
    recipe_ = toy_recipe(folder_ / "clips");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void train(const std::string& name, int64_t updates, bool resume) {
    recipe_["updates"] = updates;
    auto single = make_single_communicator();
    TransformerRun run(TransformerRecipe::from_json(recipe_, "toy"), folder_ / name, resume,
                       *single);
    run.loop.run();
  }

  std::filesystem::path folder_;
  Json recipe_;
};

TEST_F(TransformerTraining, ReducesTheLoss) {
  train("run", 40, false);
  const std::vector<double> losses = logged_losses(folder_ / "run");
  ASSERT_EQ(losses.size(), 40u);
  double first = 0, last = 0;
  for (int i = 0; i < 10; ++i) {
    first += losses[i] / 10;
    last += losses[30 + i] / 10;
  }
  EXPECT_LT(last, 0.7 * first);
}

TEST_F(TransformerTraining, CheckpointedBlocksGiveTheSameLosses) {
  train("kept", 3, false);
  recipe_["checkpoint_blocks"] = true;
  train("again", 3, false);
  const std::vector<double> kept = logged_losses(folder_ / "kept");
  const std::vector<double> again = logged_losses(folder_ / "again");
  ASSERT_EQ(kept.size(), again.size());
  for (size_t i = 0; i < kept.size(); ++i) EXPECT_NEAR(again[i], kept[i], 1e-5 * kept[i]);
}

TEST_F(TransformerTraining, GeneratesPartOfThePast) {
  const TransformerRecipe config = TransformerRecipe::from_json(recipe_, "toy");
  const auto parameters = std::make_shared<model::Parameters>();
  const model::Transformer transformer(config.model, parameters);
  const Window window = LatentFolder(folder_ / "clips", 1).window(0, 13);
  const at::Tensor text = at::zeros({1, 1, config.model.text_dim});
  const GeneratedPast past = generate_past(transformer, window, {}, text, 5);
  const std::vector<bool>& generated = past.chunks;
  const int64_t chunk = config.model.chunk_size;
  ASSERT_EQ(std::ssize(generated), 12 / chunk);
  EXPECT_THAT(generated, ::testing::Contains(true));
  EXPECT_THAT(generated, ::testing::Contains(false));
  EXPECT_TRUE(past.latents.narrow(1, 0, 1).equal(window.latents.narrow(1, 0, 1)));
  for (size_t i = 0; i < generated.size(); ++i) {
    const int64_t begin = 1 + static_cast<int64_t>(i) * chunk;
    EXPECT_NE(past.latents.narrow(1, begin, chunk).equal(window.latents.narrow(1, begin, chunk)),
              generated[i])
        << i;
  }
  EXPECT_FALSE(past.latents.requires_grad());
  const GeneratedPast again = generate_past(transformer, window, {}, text, 5);
  EXPECT_EQ(again.chunks, generated);
  EXPECT_TRUE(again.latents.equal(past.latents));
}

TEST_F(TransformerTraining, RefusesBatchesSmallerThanTheNumberOfRanks) {
  struct Three : Communicator {
    int rank() const override { return 0; }
    int size() const override { return 3; }
    std::function<void()> start_all_reduce_mean(at::Tensor) override {
      return [] {};
    }
    void broadcast(at::Tensor, int) override {}
  } three;
  recipe_["batch"] = 2;
  EXPECT_BAD_INPUT(
      TransformerRun(TransformerRecipe::from_json(recipe_, "toy"), folder_ / "run", false, three),
      ::testing::HasSubstr("3 ranks"));
}

TEST_F(TransformerTraining, AResumedRunHasTheSameBytes) {
  recipe_["phases"][0]["history"] = {
      {"bounded_share", 0.5}, {"bank_frames", {0, 2}}, {"recent_frames", {1}}};
  recipe_["phases"][0]["generated_share"] = 0.5;
  recipe_["optimizer"]["kind"] = "muon";
  recipe_["optimizer"]["learning_rates"]["gates"] = 1e-4;
  recipe_["recurrent_start"] = {{"whiten", 0.1}, {"write", 0.2}};
  recipe_["past"] = {{"chunk_share", 0.5}};
  train("whole", 8, false);
  train("parts", 3, false);
  train("parts", 8, true);
  EXPECT_EQ(logged_losses(folder_ / "whole"), logged_losses(folder_ / "parts"));
  for (const char* part : {"model", "ema", "optimizer"}) {
    const std::string file = std::string("checkpoint-00000008/") + part + ".safetensors";
    EXPECT_EQ(read_file(folder_ / "whole" / file), read_file(folder_ / "parts" / file)) << part;
  }
  // Continuing a run needs `resume`.
  EXPECT_THROW(train("parts", 9, false), Error);
}

// gloo waits inside libtorch, which is not instrumented. ThreadSanitizer's deadlock detector counts
// every such wait as another lock held and overflows.
#ifdef __SANITIZE_THREAD__
constexpr const char* kForRanks = "TSAN_OPTIONS=\"$TSAN_OPTIONS:detect_deadlocks=0\" ";
#else
constexpr const char* kForRanks = "";
#endif

TEST_F(TransformerTraining, TwoRanksHaveTheLossesOfOne) {
  recipe_["optimizer"]["kind"] = "muon";
  recipe_["recurrent_start"] = {{"whiten", 0.1}, {"write", 0.2}};
  train("one", 4, false);
  write_file(folder_ / "toy.json", recipe_.dump());
  const std::string command =
      fmt::format("{}'{}' train '{}' --out '{}' --ranks 2 --quiet", kForRanks, LOCI_BINARY,
                  (folder_ / "toy.json").string(), (folder_ / "two").string());
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::vector<double> one = logged_losses(folder_ / "one");
  const std::vector<double> two = logged_losses(folder_ / "two");
  ASSERT_EQ(two.size(), 4u);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(two[i], one[i], 1e-4 * one[i]);
}

// Starts the program from a shell script and returns its exit code. The command `then` runs after
// the first updates; $job is the process, $out the folder of the run.
int run_and_interrupt(const std::filesystem::path& folder, const std::string& options,
                      const std::string& then) {
  const std::string script = fmt::format(
      "out='{0}/run'; '{1}' train '{0}/toy.json' --out \"$out\" --quiet {2} 2>'{0}/stderr' & "
      "job=$!; "
      "while ! [ -s \"$out/metrics.jsonl\" ] && kill -0 $job; do sleep 0.05; done; {3}; wait $job",
      folder.string(), LOCI_BINARY, options, then);
  write_file(folder / "script", script);
  const int status = std::system(fmt::format("bash '{}/script'", folder.string()).c_str());
  return WEXITSTATUS(status);
}

TEST_F(TransformerTraining, AKilledRunResumesWithTheSameLosses) {
  recipe_["checkpoint_minutes"] = 0;  // after every update
  train("whole", 12, false);
  write_file(folder_ / "toy.json", recipe_.dump());
  EXPECT_NE(run_and_interrupt(folder_, "", "kill -KILL $job"), 0);
  train("run", 12, true);
  EXPECT_EQ(logged_losses(folder_ / "whole"), logged_losses(folder_ / "run"));
}

TEST_F(TransformerTraining, SigtermWritesACheckpoint) {
  recipe_["updates"] = 100000;
  write_file(folder_ / "toy.json", recipe_.dump());
  // One process; and two ranks, which get the signal directly and from their launcher.
  for (const auto& [options, end] :
       {std::pair("", "kill -TERM $job"), {"--ranks 2", "pkill -TERM -f -- \"--out $out\""}}) {
    std::filesystem::remove_all(folder_ / "run");
    EXPECT_EQ(run_and_interrupt(folder_, options, end), 143) << options;
    const size_t logged = logged_losses(folder_ / "run").size();
    EXPECT_TRUE(std::filesystem::exists(folder_ / "run" / fmt::format("checkpoint-{:08}", logged)))
        << options;
  }
}

// A small disk in a mount namespace, with room for one and a half checkpoints.
TEST_F(TransformerTraining, AFullDiskLeavesTheLastCheckpoint) {
  if (std::system("unshare -rm true 2>/dev/null") != 0) {
    GTEST_SKIP() << "this system does not allow mounting in a namespace";
  }
  train("whole", 6, false);
  uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           folder_ / "whole" / fmt::format("checkpoint-{:08}", 6))) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  recipe_["checkpoint_minutes"] = 0;
  write_file(folder_ / "toy.json", recipe_.dump());
  write_file(
      folder_ / "script",
      fmt::format("mkdir '{0}/disk'; mount -t tmpfs -o size={1} tmpfs '{0}/disk' || exit 99; "
                  "'{2}' train '{0}/toy.json' --out '{0}/disk/run' --quiet 2>'{0}/stderr'; "
                  "code=$?; cp -r '{0}/disk/run' '{0}/run'; exit $code",
                  folder_.string(), bytes + bytes / 2, LOCI_BINARY));
  const int status =
      std::system(fmt::format("unshare -rm bash '{}/script'", folder_.string()).c_str());
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_THAT(read_file(folder_ / "stderr"), ::testing::HasSubstr("the disk is full"));
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "run")) {
    if (entry.is_directory()) left.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(left, ::testing::ElementsAre("checkpoint-00000001"));
  train("run", 6, true);
  EXPECT_EQ(logged_losses(folder_ / "whole"), logged_losses(folder_ / "run"));
}

TEST_F(TransformerTraining, AKilledRankEndsTheJobWithAMessage) {
  recipe_["updates"] = 100000;
  write_file(folder_ / "toy.json", recipe_.dump());
  // The newest process with this folder on its command line is a rank.
  EXPECT_NE(run_and_interrupt(folder_, "--ranks 2", "pkill -KILL -n -f -- \"--out $out\""), 0);
  const std::string messages = read_file(folder_ / "stderr");
  EXPECT_THAT(messages, ::testing::HasSubstr("stopping the others"));
  EXPECT_THAT(messages, ::testing::Not(::testing::HasSubstr("--help")));  // no usage error
}

TEST_F(TransformerTraining, ANanLossEndsTheRun) {
  auto single = make_single_communicator();
  TransformerRun run(TransformerRecipe::from_json(recipe_, "toy"), folder_ / "run", false, *single);
  run.loop.update();
  run.task.transformer().parameters().all().back().tensor.detach().fill_(std::nan(""));
  try {
    run.loop.update();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCheckFailed);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("loss at update 2 is nan"));
  }
}

TEST_F(TransformerTraining, ASingleNanLatentEndsTheRunAndNamesTheClip) {
  train("run", 3, false);
  const std::filesystem::path broken = folder_ / "clips" / "clip-0002.safetensors";
  const LatentClip clip = read_latent_clip(broken);
  // One element of the latent of every image. It is in the first frame of a window, which is not a
  // part of the loss.
  clip.images[1].select(1, 1).select(1, 2).fill_(std::nan(""));
  write_latent_clip(broken, clip);
  EXPECT_BAD_INPUT(train("run", 40, true),
                   ::testing::AllOf(::testing::HasSubstr(broken.string()),
                                    ::testing::HasSubstr("of latent frame"),
                                    ::testing::HasSubstr("NaN")));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run" / "checkpoint-00000003"));
}

TEST_F(TransformerTraining, ReportsTheParameterOfAnInfiniteGradient) {
  recipe_["updates"] = 4;
  auto single = make_single_communicator();
  TransformerRun run(TransformerRecipe::from_json(recipe_, "toy"), folder_ / "run", false, *single);
  run.loop.update();
  // The forward pass is finite, the gradient is not.
  for (const model::Parameter& parameter : run.task.transformer().parameters().all()) {
    if (parameter.name.find("blocks.1.ffn.net.0") == std::string::npos) continue;
    parameter.tensor.register_hook([](const at::Tensor& gradient) {
      return gradient * std::numeric_limits<double>::infinity();
    });
    break;
  }
  try {
    run.loop.update();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCheckFailed);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("first in blocks.1.ffn.net.0"));
  }
}

TEST_F(TransformerTraining, CheckpointsNeverContainNan) {
  const RunFolder folder(folder_ / "run");
  TrainingState state{
      1, {{"a", at::ones({2})}}, {{"a", at::ones({2})}}, {{"b", at::ones({2})}}, {}, {}};
  folder.save(state, 2);
  state.update = 2;
  state.ema = {{"a", at::full({2}, std::nan(""))}};
  EXPECT_THROW(folder.save(state, 2), Error);
  EXPECT_EQ(folder.find_intact(/*set_aside=*/false), 1);
}

TEST_F(TransformerTraining, PhasesHaveTheirOwnDataAndWindow) {
  write_toy_clips(folder_ / "later", 2, 13);
  recipe_["phases"].push_back(
      {{"from", 2}, {"window", 9}, {"data", {{{"folder", (folder_ / "later").string()}}}}});
  const TransformerRecipe config = TransformerRecipe::from_json(recipe_, "toy");
  EXPECT_EQ(config.phase(1).window, 7);
  EXPECT_EQ(config.phase(2).window, 9);
  train("run", 3, false);
  EXPECT_EQ(logged_losses(folder_ / "run").size(), 3u);
}

TEST_F(TransformerTraining, RefusesQuantizedModels) {
  const TransformerRecipe config = TransformerRecipe::from_json(recipe_, "toy");
  const model::Transformer original(config.model, std::make_shared<model::Parameters>());
  const std::filesystem::path eight = folder_ / "eight";
  model::save_model(config.model, original.parameters().all(), eight,
                    {.quantize = kernels::WeightFormat::kInt8});
  auto single = make_single_communicator();
  const auto refused = [&](const Json& recipe) {
    EXPECT_BAD_INPUT(TransformerRun(TransformerRecipe::from_json(recipe, "toy"), folder_ / "run",
                                    false, *single),
                     ::testing::HasSubstr("quantiz"));
  };
  Json start = recipe_, teacher = recipe_, itself = recipe_;
  start["start"] = eight.string();
  refused(start);
  teacher["distill"] = {{"teacher", eight.string()}};
  refused(teacher);
  itself["model"]["quantization"] = "int8";
  refused(itself);
}

TEST_F(TransformerTraining, RefusesLatentsWithOtherChannels) {
  recipe_["model"]["in_channels"] = 6;
  auto single = make_single_communicator();
  EXPECT_BAD_INPUT(
      TransformerRun(TransformerRecipe::from_json(recipe_, "toy"), folder_ / "run", false, *single),
      ::testing::HasSubstr("the latents have 4 channels, but model.in_channels is 6"));
}

TEST_F(TransformerTraining, RefusesInvalidRecipes) {
  const auto refused = [&](const Json& recipe) {
    EXPECT_THROW(TransformerRecipe::from_json(recipe, "toy"), Error) << recipe.dump();
  };
  Json recipe = recipe_;
  recipe["batches"] = 4;  // a typo
  refused(recipe);
  recipe = recipe_;
  recipe["phases"] = Json::array();
  refused(recipe);
  recipe = recipe_;
  recipe["phases"][0]["window"] = 6;  // not 1 + a multiple of the chunk size
  refused(recipe);
  recipe = recipe_;
  recipe["optimizer"]["frozen"] = {"heads"};
  refused(recipe);
}

}  // namespace
}  // namespace loci::train
