// SPDX-License-Identifier: Apache-2.0
#include "loci/app/bench/measure_train.h"

#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loci/base/error.h"
#include "loci/io/tensors/safetensors.h"

#include "tests/model/tiny_model.h"

namespace loci::app {
namespace {

namespace fs = std::filesystem;

TEST(BenchTrain, WritesTheCaseItMeasures) {
  const fs::path file =
      fs::path(::testing::TempDir()) / fmt::format("loci_bench_train_{}.safetensors", ::getpid());
  const model::TransformerConfig config = testing::tiny_config();
  TrainBenchOptions options{.window = 1 + config.chunk_size, .height = 4, .width = 4, .repeats = 1};
  options.case_file = file;
  const TrainBenchResult result = measure_training(config, options);
  EXPECT_GT(result.gradient_norm, 0);
  EXPECT_EQ(result.loss, measure_training(config, options).loss);
  const io::SafetensorsFile stored = io::SafetensorsFile::open(file);
  EXPECT_EQ(stored.tensor("in.latents").size(2), options.window);
  EXPECT_EQ(stored.metadata().count("loci.config"), 1u);
  ++options.window;
  EXPECT_THROW(measure_training(config, options), Error);
  fs::remove(file);
}

}  // namespace
}  // namespace loci::app
