// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/config.h"
#include "loci/base/file.h"
#include "loci/base/file_lock.h"
#include "loci/eval/report/line_plot.h"
#include "loci/io/media/frames.h"
#include "loci/io/media/image.h"
#include "loci/io/tensors/safetensors.h"
#include "loci/model/text/text_encoder.h"

#include "tests/app/run_command.h"
#include "tests/io/read_frames.h"
#include "tests/model/tiny_decoder_file.h"
#include "tests/model/tiny_model.h"
#include "tests/sample/tiny_folder.h"

namespace loci::app {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Runs `loci generate` with a tiny model folder.
class GenerateCommand : public ::testing::Test {
 protected:
  static constexpr int64_t kWidth = testing::kTinyWidth, kHeight = testing::kTinyHeight;

  GenerateCommand() {
    fs::create_directories(folder_);
    testing::make_tiny_folder(path("model"), 1);
    at::manual_seed(5);
    io::write_png(path("first.png"), at::randint(0, 256, {40, 48, 3}, at::kByte));
  }
  ~GenerateCommand() override { fs::remove_all(folder_); }

  // A text encoder with one small block and a byte tokenizer.
  static void add_text_encoder(const fs::path& folder) {
    model::TextConfig config;
    config.vocab_size = 259;
    config.d_model = testing::tiny_config().text_dim;
    config.d_kv = 4;
    config.d_ff = 8;
    config.num_heads = 2;
    config.num_layers = 1;
    const model::TextEncoder encoder(config, {.seed = 1});
    io::NamedTensors tensors;
    for (const model::Parameter& parameter : encoder.parameters().all()) {
      tensors.emplace_back(parameter.name, parameter.tensor.detach());
    }
    fs::create_directories(folder / "text_encoder");
    fs::create_directories(folder / "tokenizer");
    io::write_safetensors(folder / "text_encoder/model.safetensors", tensors);
    write_file(folder / "text_encoder/config.json", config.to_json().dump());
    write_file(folder / "tokenizer/tokenizer_config.json",
               R"({"tokenizer_class": "ByteTokenizer"})");
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  Outcome run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"generate", "--model", path("model")});
    return run_command(arguments);
  }
  Outcome must(const std::vector<std::string>& arguments) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome;
  }
  std::string refused(const std::vector<std::string>& arguments) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    return outcome.err;
  }
  // Two seconds (four chunks) from the image.
  std::vector<std::string> walk(const std::string& out) const {
    return {"--image", path("first.png"), "--trajectory", "w-16,left-16", "--out", path(out)};
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("loci_generate_test_" + std::to_string(::getpid()));
};

TEST_F(GenerateCommand, WritesVideoRecordAndLatents) {
  std::vector<std::string> arguments = walk("a.mp4");
  arguments.insert(arguments.end(), {"--preview", "--seed", "18446744073709551615"});
  const Outcome outcome = must(arguments);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("33 frames"), HasSubstr("4 chunks")));
  EXPECT_EQ(io::read_frames(path("a.mp4")).sizes(), at::IntArrayRef({33, kHeight, kWidth, 3}));
  EXPECT_EQ(io::read_image(path("a.preview.jpg")).size(1), 5 * kWidth);
  const Json record = load_json(path("a.json"));
  EXPECT_EQ(record.at("frames"), 33);
  EXPECT_EQ(record.at("options").at("seed"), "18446744073709551615");
  EXPECT_EQ(record.at("options").at("history").at("kind"), "sparse");
  EXPECT_EQ(record.at("poses").size(), 8u);
  ASSERT_EQ(record.at("chunks").size(), 4u);
  EXPECT_EQ(record.at("chunks").at(1).at("first"), 3);
  EXPECT_EQ(record.at("chunks").at(1).at("visible"), Json({0, 1, 2}));
  const at::Tensor latents =
      io::SafetensorsFile::open(path("a.latents/00004.safetensors")).tensor("latents");
  EXPECT_EQ(latents.sizes(), at::IntArrayRef({1, 3, 2, 4, 6}));
}

TEST_F(GenerateCommand, RepeatedAndResumedRunsAreByteIdentical) {
  must(walk("a.mp4"));
  must(walk("b.mp4"));
  const std::string video = read_file(path("a.mp4"));
  EXPECT_EQ(read_file(path("b.mp4")), video);
  // The state of a run that was killed during its third chunk.
  for (const char* name :
       {"b.mp4", "b.json", "b.latents/00003.safetensors", "b.latents/00004.safetensors"}) {
    ASSERT_TRUE(fs::remove(path(name)));
  }
  Json run = load_json(path("b.latents/run.json"));
  run["finished"] = false;
  write_file(path("b.latents/run.json"), run.dump());
  EXPECT_THAT(refused(walk("b.mp4")), HasSubstr("unfinished run; continue it with --resume"));
  std::vector<std::string> resumed = walk("b.mp4");
  resumed.emplace_back("--resume");
  std::vector<std::string> other = resumed;
  other.insert(other.end(), {"--steps", "3"});
  EXPECT_THAT(refused(other), HasSubstr("another 'options'"));
  must(resumed);
  EXPECT_EQ(read_file(path("b.mp4")), video);
  for (const char* chunk : {"00003.safetensors", "00004.safetensors"}) {
    EXPECT_EQ(read_file(path("a.latents/") + chunk), read_file(path("b.latents/") + chunk));
  }
  // A new run deletes the latents of the old one. If it is interrupted, the next run deletes the
  // rest.
  fs::remove(path("b.latents/00000.safetensors"));
  fs::create_directories(path("b.latents/00000.safetensors/in the way"));
  EXPECT_NE(GenerateCommand::run(walk("b.mp4")).code, 0);
  fs::remove_all(path("b.latents/00000.safetensors"));
  must(walk("b.mp4"));
  EXPECT_EQ(read_file(path("b.mp4")), video);
  std::vector<std::string> nothing = walk("c.mp4");
  nothing.emplace_back("--resume");
  EXPECT_THAT(refused(nothing), HasSubstr("no run to resume"));
}

TEST_F(GenerateCommand, BadInputLeavesNoTrace) {
  must(walk("a.mp4"));
  const std::string before = read_file(path("a.latents/00002.safetensors"));
  for (const char* name : {"a.mp4", "new.mp4"}) {
    std::vector<std::string> bad = walk(name);
    bad[1] = path("no.png");
    EXPECT_THAT(refused(bad), HasSubstr("no.png"));
  }
  EXPECT_EQ(read_file(path("a.latents/00002.safetensors")), before);
  EXPECT_FALSE(fs::exists(path("new.latents")));
  std::vector<std::string> typo = walk("new.mp4");
  typo[3] = "lok_around";
  EXPECT_THAT(refused(typo), HasSubstr("(did you mean 'look_around'?); choose one of: "));
}

TEST_F(GenerateCommand, ASecondRunIsToldWhoHoldsTheOutput) {
  must(walk("a.mp4"));
  const std::string video = read_file(path("a.mp4"));
  std::vector<std::string> resumed = walk("a.mp4");
  resumed.emplace_back("--resume");
  {
    const FileLock other = FileLock::lock_folder(path("a.latents"), "wait");
    for (const std::vector<std::string>& arguments : {walk("a.mp4"), resumed}) {
      EXPECT_THAT(refused(arguments),
                  AllOf(HasSubstr("a.latents is in use by process " + std::to_string(::getpid())),
                        HasSubstr("loci_app_tests"), HasSubstr("choose another output")));
    }
  }
  must(resumed);
  EXPECT_EQ(read_file(path("a.mp4")), video);
  EXPECT_EQ(read_file(path("a.latents/lock")), "");
  // The lock of a run that was killed before its first chunk.
  fs::create_directories(path("b.latents"));
  write_file(path("b.latents/lock"), "process 1");
  must(walk("b.mp4"));
}

TEST_F(GenerateCommand, ReadsOnlyTheNeededPartOfAPath) {
  // Two poses, 58 days apart.
  write_file(path("long.txt"), "0 0 0 0 0 0 0 1\n5000000 0 0 5 0 0 0 1\n");
  std::vector<std::string> arguments = walk("a.mp4");
  arguments[3] = path("long.txt");
  EXPECT_THAT(refused(arguments), HasSubstr("expected at most 4194304"));
  arguments.insert(arguments.end(), {"--seconds", "1"});
  must(arguments);
  EXPECT_EQ(io::read_frames(path("a.mp4")).size(0), 17);
  // An uneven list of times.
  write_file(path("uneven.txt"), "0 0 0 0 0 0 0 1\n1 0 0 1 0 0 0 1\n4000000 0 0 5 0 0 0 1\n");
  arguments = walk("b.mp4");
  arguments[3] = path("uneven.txt");
  arguments.insert(arguments.end(), {"--seconds", "1"});
  must(arguments);
}

TEST_F(GenerateCommand, ContinuesSavedWorlds) {
  std::vector<std::string> first = walk("a.mp4");
  first.insert(first.end(), {"--seconds", "1", "--save-world", path("a.world")});
  must(first);
  must({"--load-world", path("a.world"), "--trajectory", "w-8,d-8", "--out", path("b.mp4")});
  EXPECT_EQ(load_json(path("b.json")).at("first_latent"), 5);
  EXPECT_EQ(io::read_frames(path("b.mp4")).size(0), 16);
  EXPECT_THAT(refused({"--load-world", path("a.world"), "--trajectory", "w-8", "--seed", "1",
                       "--out", path("c.mp4")}),
              HasSubstr("--seed cannot be combined with --load-world"));
  fs::remove_all(path("model"));
  testing::make_tiny_folder(path("model"), 2);
  EXPECT_THAT(
      refused({"--load-world", path("a.world"), "--trajectory", "w-8", "--out", path("c.mp4")}),
      HasSubstr("other weights"));
}

TEST_F(GenerateCommand, ContinuesRecordings) {
  ASSERT_EQ(run_command({"world", "record", path("data"), "--count", "1", "--depth", "none",
                         "--frames", "41", "--size", "48x32"})
                .code,
            0);
  const std::string clip = path("data/clips/000000");
  must({"--context", clip, "--context-seconds", "1", "--out", path("a.mp4")});
  const Json record = load_json(path("a.json"));
  // One second is two chunks. The other three follow the recorded trajectory.
  EXPECT_EQ(record.at("context_latents"), 5);
  EXPECT_EQ(record.at("chunks").size(), 3u);
  EXPECT_EQ(io::read_frames(path("a.mp4")).size(0), 24);
  must({"--context", clip, "--trajectory", "left-8", "--keep-context", "--out", path("b.mp4")});
  EXPECT_EQ(io::read_frames(path("b.mp4")).size(0), 1 + 16 + 8);
  EXPECT_THAT(refused({"--context", clip, "--context-seconds", "9", "--out", path("c.mp4")}),
              HasSubstr("no whole chunk"));
}

TEST_F(GenerateCommand, UsesPromptsAndGuidance) {
  add_text_encoder(path("model"));
  const auto latents = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = walk(name + ".mp4");
    arguments.insert(arguments.end(), {"--seconds", "1"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    must(arguments);
    return read_file(path(name + ".latents/00002.safetensors"));
  };
  const std::string empty = latents("empty", {});
  const std::string town = latents("town", {"--prompt", "town"});
  EXPECT_NE(town, empty);
  // The negative prompt has an effect only with guidance.
  EXPECT_EQ(latents("alone", {"--prompt", "town", "--negative", "sand"}), town);
  const std::string guided = latents("guided", {"--prompt", "town", "--guidance", "3"});
  EXPECT_NE(guided, town);
  EXPECT_NE(latents("away", {"--prompt", "town", "--negative", "sand", "--guidance", "3"}), guided);
  EXPECT_EQ(load_json(path("town.json")).at("prompt"), "town");
}

TEST_F(GenerateCommand, DecodesWithASmallDecoder) {
  testing::write_tiny_decoder(path("taew2_2.safetensors"), 3, 1);
  must(walk("own"));
  std::vector<std::string> arguments = walk("small");
  arguments.insert(arguments.end(), {"--decoder", path("taew2_2.safetensors")});
  must(arguments);
  const at::Tensor own = io::read_frames(path("own")), small = io::read_frames(path("small"));
  EXPECT_EQ(small.sizes(), own.sizes());
  EXPECT_FALSE(at::equal(small, own));
  EXPECT_EQ(read_file(path("small.latents/00004.safetensors")),
            read_file(path("own.latents/00004.safetensors")));
  const Json record = load_json(path("small.json"));
  const Json own_record = load_json(path("own.json"));
  EXPECT_NE(record.at("decoder"), "");
  EXPECT_EQ(own_record.at("decoder"), "");
  EXPECT_EQ(record.at("autoencoder"), own_record.at("autoencoder"));

  arguments.back() = path("none.pth");
  EXPECT_THAT(refused(arguments), HasSubstr("none.pth"));
  arguments.back() = path("model/vae/diffusion_pytorch_model.safetensors");
  EXPECT_THAT(refused(arguments), HasSubstr("it is not a small decoder of TAEHV"));
}

TEST_F(GenerateCommand, RejectsInvalidOptions) {
  EXPECT_THAT(refused({"--trajectory", "w-8", "--out", path("c.mp4")}),
              HasSubstr("give exactly one"));
  EXPECT_THAT(refused({"--image", path("first.png"), "--out", path("c.mp4")}),
              HasSubstr("--trajectory is missing"));
  std::vector<std::string> arguments = walk("c.mp4");
  arguments.insert(arguments.end(), {"--prompt", "a town"});
  EXPECT_THAT(refused(arguments), HasSubstr("no text encoder; leave the prompt empty"));
  arguments = walk("c.mp4");
  arguments.insert(arguments.end(), {"--size", "50x32"});
  EXPECT_THAT(refused(arguments), HasSubstr("choose 48x32"));
  for (const char* shift : {"1e-300", "0", "2000"}) {
    arguments = walk("c.mp4");
    arguments.insert(arguments.end(), {"--shift", shift});
    EXPECT_THAT(refused(arguments), HasSubstr("from 0.001 to 1000"));
  }
  fs::remove_all(path("model/vae"));
  EXPECT_THAT(refused(walk("c.mp4")), HasSubstr("has no autoencoder"));
}

TEST_F(GenerateCommand, BenchStreamWritesAllReportFormats) {
  const Outcome outcome =
      run_command({"bench", "stream", "--heads", "1", "--layers", "2", "--width", "64", "--height",
                   "32", "--steps", "1", "--seconds", "5,2.5", "--out", path("bench")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json rows = load_json(path("bench.json")).at("rows");
  ASSERT_EQ(rows.size(), 8u);
  const auto bytes = [&](const std::string& model, const std::string& history, double seconds) {
    for (const Json& row : rows) {
      if (row.at("model") == model && row.at("history") == history &&
          row.at("seconds") == seconds) {
        return row.at("history_bytes").get<int64_t>();
      }
    }
    return int64_t{0};
  };
  EXPECT_EQ(bytes("loci", "sparse", 2.5), bytes("loci", "sparse", 5));
  EXPECT_LT(bytes("loci", "sparse", 5), bytes("softmax", "sparse", 5));
  EXPECT_LT(bytes("loci", "dense", 5), bytes("softmax", "dense", 5));
  const std::string csv = read_file(path("bench.csv"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 9);
  EXPECT_THAT(read_file(path("bench.svg")), AllOf(HasSubstr("<svg"), HasSubstr("softmax, dense"),
                                                  HasSubstr("CPU seconds per chunk")));
}

TEST(LinePlot, TicksAreRoundNumbers) {
  EXPECT_DOUBLE_EQ(eval::tick_step(80, 6), 20);
  EXPECT_DOUBLE_EQ(eval::tick_step(60, 6), 10);
  EXPECT_DOUBLE_EQ(eval::tick_step(0.013, 6), 0.005);
}

}  // namespace
}  // namespace loci::app
