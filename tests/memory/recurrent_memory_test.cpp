// SPDX-License-Identifier: Apache-2.0
// Properties of every recurrent memory, then the definition of each.
#include <unistd.h>

#include <filesystem>
#include <functional>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loci/io/tensors/safetensors.h"
#include "loci/memory/recurrent/key_spread.h"
#include "loci/memory/recurrent/recurrent_registry.h"

#include "tests/base/expect_error.h"
#include "tests/kernels/gradient_check.h"

namespace loci::memory {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr camera::TokenGrid kGrid{2, 4};
constexpr int64_t kFrames = 2;
constexpr int64_t kTokens = 16;  // kFrames * kGrid.tokens()
constexpr int64_t kHeads = 2;
constexpr int64_t kChannels = 12;

at::Tensor unit(const at::Tensor& x) { return x / x.norm(2, -1, /*keepdim=*/true); }

int64_t grains(const RecurrentMemory& memory) {
  switch (memory.grain()) {
    case Grain::kChunk:
      return 1;
    case Grain::kFrame:
      return kFrames;
    case Grain::kToken:
      break;
  }
  return kTokens;
}

ChunkWrite random_chunk(const RecurrentMemory& memory, int64_t batch, at::ScalarType type) {
  ChunkWrite chunk;
  chunk.key = unit(at::randn({batch, kTokens, kHeads, kChannels}, type));
  chunk.value = at::randn({batch, kTokens, kHeads, kChannels}, type);
  chunk.beta = 2 * at::rand({batch, kTokens, kHeads}, type);
  chunk.log_retention =
      at::log(0.3 + 0.6 * at::rand({batch, grains(memory), kHeads, kChannels}, type));
  return chunk;
}

at::Tensor random_query(int64_t batch, at::ScalarType type) {
  return unit(at::randn({batch, kTokens, kHeads, kChannels}, type));
}

at::Tensor zero_state(const RecurrentMemory& memory, int64_t batch, at::ScalarType type) {
  return at::zeros(memory.state_shape(batch, kHeads, kChannels, kGrid), type);
}

// Runs the check for every registered memory.
void for_each_memory(const std::function<void(const RecurrentMemory&)>& check) {
  for (const std::string& name : recurrent_memory_names()) {
    const auto memory = make_recurrent_memory(name);
    if (memory == nullptr) continue;
    SCOPED_TRACE(name);
    EXPECT_EQ(memory->name(), name);
    at::manual_seed(7);
    check(*memory);
  }
}

TEST(EveryMemory, StatesAndReadoutsHaveTheirShapes) {
  for_each_memory([](const RecurrentMemory& memory) {
    const std::vector<int64_t> shape = memory.state_shape(3, kHeads, kChannels, kGrid);
    EXPECT_EQ(shape.front(), 3);
    const at::Tensor state = zero_state(memory, 3, at::kFloat);
    const at::Tensor written = memory.write(state, random_chunk(memory, 3, at::kFloat), kGrid);
    EXPECT_EQ(written.sizes(), state.sizes());
    EXPECT_EQ(memory.read(written, random_query(3, at::kFloat), kGrid).sizes(),
              at::IntArrayRef({3, kTokens, kHeads, kChannels}));
  });
}

TEST(EveryMemory, ZeroStateReadsZero) {
  for_each_memory([](const RecurrentMemory& memory) {
    const at::Tensor read =
        memory.read(zero_state(memory, 2, at::kFloat), random_query(2, at::kFloat), kGrid);
    EXPECT_EQ(read.abs().max().item<float>(), 0);
  });
}

TEST(EveryMemory, ReadAndWriteDoNotModifyTheState) {
  for_each_memory([](const RecurrentMemory& memory) {
    const at::Tensor state =
        memory.write(zero_state(memory, 2, at::kFloat), random_chunk(memory, 2, at::kFloat), kGrid);
    const at::Tensor copy = state.clone();
    memory.read(state, random_query(2, at::kFloat), kGrid);
    const at::Tensor next = memory.write(state, random_chunk(memory, 2, at::kFloat), kGrid);
    EXPECT_TRUE(at::equal(state, copy));
    EXPECT_FALSE(at::equal(next, copy));
  });
}

TEST(EveryMemory, ReadoutDependsOnWritesAndQuery) {
  for_each_memory([](const RecurrentMemory& memory) {
    const at::Tensor zero = zero_state(memory, 1, at::kFloat);
    const at::Tensor query = random_query(1, at::kFloat);
    const ChunkWrite first = random_chunk(memory, 1, at::kFloat);
    const at::Tensor state = memory.write(zero, first, kGrid);
    const at::Tensor read = memory.read(state, query, kGrid);
    EXPECT_GT(read.abs().max().item<float>(), 1e-3);
    EXPECT_FALSE(at::allclose(
        read,
        memory.read(memory.write(zero, random_chunk(memory, 1, at::kFloat), kGrid), query, kGrid)));
    EXPECT_FALSE(at::allclose(read, memory.read(state, random_query(1, at::kFloat), kGrid)));
    // With β = 0 only forgetting changes the state.
    ChunkWrite nothing = first;
    nothing.beta = at::zeros_like(first.beta);
    nothing.log_retention = at::zeros_like(first.log_retention);
    EXPECT_TRUE(at::allclose(memory.write(state, nothing, kGrid), state, 1e-5, 1e-6));
  });
}

TEST(EveryMemory, RunEqualsReadsAndWritesInOrder) {
  for_each_memory([](const RecurrentMemory& memory) {
    constexpr int64_t kWide = 32;  // channels for which kernels have loops of their own
    const std::vector<int64_t> ends = {8, 24, 40};  // a frame alone, then two by two
    const auto random = [](int64_t tokens) { return at::randn({2, tokens, kHeads, kWide}); };
    for (const bool write_last : {false, true}) {
      const int64_t rows = memory.grain() == Grain::kChunk   ? 1
                           : memory.grain() == Grain::kFrame ? 2
                                                             : 16;
      ChunkSequence chunks{
          .ends = ends, .write_last = write_last, .query = unit(random(40)), .write = {}};
      std::vector<at::Tensor> retentions = {
          -at::rand({2, memory.grain() == Grain::kToken ? 8 : 1, kHeads, kWide})};
      for (int64_t i = 0; i < (write_last ? 2 : 1); ++i) {
        retentions.push_back(-at::rand({2, rows, kHeads, kWide}));
      }
      chunks.write = {unit(random(40)), random(40), 2 * at::rand({2, 40, kHeads}),
                      at::cat(retentions, 1)};
      const at::Tensor start = at::randn(memory.state_shape(2, kHeads, kWide, kGrid)).abs();
      at::Tensor state = start, expected = start;
      const at::Tensor reads = memory.run(state, chunks, kGrid);
      int64_t begin = 0;
      for (size_t i = 0; i < ends.size(); ++i) {
        const auto part = [&](const at::Tensor& x) { return x.slice(1, begin, ends[i]); };
        EXPECT_TRUE(at::allclose(part(reads), memory.read(expected, part(chunks.query), kGrid),
                                 1e-4, 1e-5));
        if (i < retentions.size()) {
          expected = memory.write(expected,
                                  {part(chunks.write.key), part(chunks.write.value),
                                   part(chunks.write.beta), retentions[i]},
                                  kGrid);
        }
        begin = ends[i];
      }
      EXPECT_TRUE(at::allclose(state, expected, 1e-4, 1e-4));
    }
  });
}

TEST(EveryMemory, SamplesAndHeadsAreIndependent) {
  for_each_memory([](const RecurrentMemory& memory) {
    const ChunkWrite chunk = random_chunk(memory, 2, at::kFloat);
    const at::Tensor both = memory.write(zero_state(memory, 2, at::kFloat), chunk, kGrid);
    const at::Tensor query = random_query(2, at::kFloat);
    const at::Tensor read = memory.read(both, query, kGrid);
    ChunkWrite second;
    second.key = chunk.key.narrow(0, 1, 1);
    second.value = chunk.value.narrow(0, 1, 1);
    second.beta = chunk.beta.narrow(0, 1, 1);
    second.log_retention = chunk.log_retention.narrow(0, 1, 1);
    const at::Tensor alone = memory.write(zero_state(memory, 1, at::kFloat), second, kGrid);
    EXPECT_TRUE(at::allclose(alone[0], both[1], 1e-5, 1e-6));
    EXPECT_TRUE(
        at::allclose(memory.read(alone, query.narrow(0, 1, 1), kGrid)[0], read[1], 1e-5, 1e-6));
    // The values of one head do not affect the readout of another.
    ChunkWrite changed = chunk;
    changed.value = chunk.value.clone();
    changed.value.select(2, 0).add_(1);
    const at::Tensor other =
        memory.read(memory.write(zero_state(memory, 2, at::kFloat), changed, kGrid), query, kGrid);
    EXPECT_TRUE(at::allclose(other.select(2, 1), read.select(2, 1), 1e-5, 1e-6));
    EXPECT_FALSE(at::allclose(other.select(2, 0), read.select(2, 0)));
  });
}

TEST(EveryMemory, IsDeterministicOnOneAndTwoThreads) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not see how the threads of libgomp wait for each other";
#endif
  for_each_memory([](const RecurrentMemory& memory) {
    const ChunkWrite chunk = random_chunk(memory, 2, at::kFloat);
    const at::Tensor query = random_query(2, at::kFloat);
    const auto run = [&] {
      at::Tensor state = zero_state(memory, 2, at::kFloat);
      for (int i = 0; i < 3; ++i) state = memory.write(state, chunk, kGrid);
      return memory.read(state, query, kGrid);
    };
    const int threads = at::get_num_threads();
    at::set_num_threads(1);
    const at::Tensor once = run();
    EXPECT_TRUE(at::equal(run(), once));
    at::set_num_threads(2);
    EXPECT_TRUE(at::equal(run(), once));
    at::set_num_threads(threads);
  });
}

TEST(EveryMemory, ContinuesIdenticallyAfterSaveAndRestore) {
  for_each_memory([](const RecurrentMemory& memory) {
    const std::filesystem::path file =
        std::filesystem::path(::testing::TempDir()) /
        fmt::format("loci_state_{}_{}.safetensors", memory.name(), ::getpid());
    at::Tensor state = zero_state(memory, 1, at::kFloat);
    for (int i = 0; i < 3; ++i) {
      state = memory.write(state, random_chunk(memory, 1, at::kFloat), kGrid);
    }
    io::write_safetensors(file, {{"state", state}});
    at::Tensor restored = io::SafetensorsFile::open(file).tensor("state");
    for (int i = 0; i < 3; ++i) {
      const at::Tensor query = random_query(1, at::kFloat);
      EXPECT_TRUE(at::equal(memory.read(restored, query, kGrid), memory.read(state, query, kGrid)));
      const ChunkWrite chunk = random_chunk(memory, 1, at::kFloat);
      state = memory.write(state, chunk, kGrid);
      restored = memory.write(restored, chunk, kGrid);
      EXPECT_TRUE(at::equal(restored, state));
    }
    std::filesystem::remove(file);
  });
}

TEST(EveryMemory, GradientsEqualCentralDifferences) {
  for_each_memory([](const RecurrentMemory& memory) {
    const ChunkWrite random = random_chunk(memory, 1, at::kDouble);
    ChunkWrite chunk{testing::leaf(random.key), testing::leaf(random.value),
                     testing::leaf(random.beta), testing::leaf(random.log_retention)};
    const at::Tensor state = testing::leaf(memory.write(
        zero_state(memory, 1, at::kDouble), random_chunk(memory, 1, at::kDouble), kGrid));
    const at::Tensor query = testing::leaf(random_query(1, at::kDouble));
    EXPECT_LT(testing::gradient_error(
                  [&] {
                    return testing::weighted_sum(
                        memory.read(memory.write(state, chunk, kGrid), query, kGrid));
                  },
                  {state, query, chunk.key, chunk.value, chunk.beta, chunk.log_retention}),
              1e-5);
  });
}

TEST(EveryMemory, StaysFiniteForTenThousandChunks) {
  for_each_memory([](const RecurrentMemory& memory) {
    // A small grid and few channels, because only the number of writes matters. The keys are nearly
    // equal and β is 2.
    constexpr camera::TokenGrid kSmall{2, 2};
    constexpr int64_t kFew = 8;
    const at::NoGradGuard no_grad;
    const at::Tensor common = at::randn({1, 4, 1, kFew});
    ChunkWrite chunk;
    chunk.beta = at::full({1, 4, 1}, 2.0);
    const int64_t n = memory.grain() == Grain::kToken ? 4 : 1;
    chunk.log_retention = at::full({1, n, 1, kFew}, std::log(0.7));
    at::Tensor state = at::zeros(memory.state_shape(1, 1, kFew, kSmall));
    double largest = 0;
    for (int i = 0; i < 10000; ++i) {
      chunk.key = unit(common + 0.1 * at::randn({1, 4, 1, kFew}));
      chunk.value = at::randn({1, 4, 1, kFew});
      state = memory.write(state, chunk, kSmall);
      if (i % 500 == 499) {
        largest =
            std::max(largest, memory.read(state, chunk.key, kSmall).abs().max().item<double>());
      }
    }
    EXPECT_TRUE(at::isfinite(state).all().item<bool>());
    EXPECT_LT(largest, 50);
  });
}

// The definitions, token by token in FP64. One sample, one head.
struct Loop {
  at::Tensor state;  // [K, V]

  void decay(const at::Tensor& log_retention) { state = state * log_retention.exp().unsqueeze(-1); }
  void correct(const at::Tensor& k, const at::Tensor& v, const at::Tensor& beta) {
    state = state + beta * at::outer(k, v - at::mv(state.t(), k));
  }
};

class Definitions : public ::testing::Test {
 protected:
  void use(const std::string& name) {
    at::manual_seed(9);
    memory_ = make_recurrent_memory(name);
    chunk_ = random_chunk(*memory_, 1, at::kDouble);
    state_ = at::randn(memory_->state_shape(1, kHeads, kChannels, kGrid), at::kDouble);
    written_ = memory_->write(state_, chunk_, kGrid);
  }
  at::Tensor key(int64_t i, int64_t h) const { return chunk_.key[0][i][h]; }
  at::Tensor value(int64_t i, int64_t h) const { return chunk_.value[0][i][h]; }
  at::Tensor beta(int64_t i, int64_t h) const { return chunk_.beta[0][i][h]; }
  at::Tensor log_retention(int64_t i, int64_t h) const { return chunk_.log_retention[0][i][h]; }

  std::shared_ptr<const RecurrentMemory> memory_;
  ChunkWrite chunk_;
  at::Tensor state_, written_;
};

TEST_F(Definitions, ChunkKdaDecaysOncePerChunk) {
  use("chunk_kda");
  for (int64_t h = 0; h < kHeads; ++h) {
    Loop loop{state_[0][h]};
    loop.decay(log_retention(0, h));
    for (int64_t i = 0; i < kTokens; ++i) loop.correct(key(i, h), value(i, h), beta(i, h));
    EXPECT_TRUE(at::allclose(written_[0][h], loop.state, 1e-10, 1e-10));
  }
}

TEST_F(Definitions, TokenKdaDecaysBeforeEveryToken) {
  use("token_kda");
  for (int64_t h = 0; h < kHeads; ++h) {
    Loop loop{state_[0][h]};
    for (int64_t i = 0; i < kTokens; ++i) {
      loop.decay(log_retention(i, h));
      loop.correct(key(i, h), value(i, h), beta(i, h));
    }
    EXPECT_TRUE(at::allclose(written_[0][h], loop.state, 1e-10, 1e-10));
  }
}

TEST_F(Definitions, FrameDeltaNetUpdatesOncePerFrame) {
  use("frame_deltanet");
  for (int64_t h = 0; h < kHeads; ++h) {
    at::Tensor state = state_[0][h];
    for (int64_t f = 0; f < kFrames; ++f) {
      state = state * log_retention(f, h).mean().exp();
      at::Tensor sum = at::zeros_like(state);
      for (int64_t i = f * kGrid.tokens(); i < (f + 1) * kGrid.tokens(); ++i) {
        sum = sum + beta(i, h) * at::outer(key(i, h), value(i, h) - at::mv(state.t(), key(i, h)));
      }
      state = state + sum / static_cast<double>(kGrid.tokens());
    }
    EXPECT_TRUE(at::allclose(written_[0][h], state, 1e-10, 1e-10));
  }
}

TEST_F(Definitions, LinearStateIsAWeightedMeanOfValues) {
  use("linear");
  // From a zero state, readouts are means of the values weighted by β φ(q)·φ(k).
  const at::Tensor state = memory_->write(zero_state(*memory_, 1, at::kDouble), chunk_, kGrid);
  const at::Tensor query = random_query(1, at::kDouble);
  const at::Tensor read = memory_->read(state, query, kGrid);
  const auto features = [](const at::Tensor& x) {
    return at::elu(x * std::sqrt(static_cast<double>(kChannels))) + 1;
  };
  for (int64_t h = 0; h < kHeads; ++h) {
    const at::Tensor q = features(query[0][3][h]);
    at::Tensor sum = at::zeros({kChannels}, at::kDouble);
    double weight = 0;
    for (int64_t i = 0; i < kTokens; ++i) {
      const double w = (beta(i, h) * at::dot(q, features(key(i, h)))).item<double>();
      sum = sum + w * value(i, h);
      weight += w;
    }
    EXPECT_TRUE(at::allclose(read[0][3][h], sum / weight, 1e-5, 1e-6));
  }
}

TEST_F(Definitions, StateSpaceScansEachBlockOfTheGrid) {
  use("ssm");
  // A grid of 2x4 has four blocks of 1x2 tokens; block (r, c) has columns 2c and 2c+1 of row r.
  for (int64_t block = 0; block < 4; ++block) {
    for (int64_t h = 0; h < kHeads; ++h) {
      at::Tensor state = state_[0][block][h];
      for (int64_t f = 0; f < kFrames; ++f) {
        for (int64_t j = 0; j < 2; ++j) {
          const int64_t i = f * 8 + (block / 2) * 4 + (block % 2) * 2 + j;
          state = state * log_retention(i, h).exp().unsqueeze(-1) +
                  beta(i, h) * at::outer(key(i, h), value(i, h));
        }
      }
      EXPECT_TRUE(at::allclose(written_[0][block][h], state, 1e-10, 1e-10));
    }
  }
  // A token reads the state of its block.
  const at::Tensor query = random_query(1, at::kDouble);
  const at::Tensor read = memory_->read(written_, query, kGrid);
  const at::Tensor expected = at::mv(written_[0][3][1].t(), query[0][8 + 4 + 2][1]) /
                              std::sqrt(static_cast<double>(kChannels));
  EXPECT_TRUE(at::allclose(read[0][8 + 4 + 2][1], expected, 1e-10, 1e-10));
}

TEST(KeySpread, CountsDirections) {
  at::manual_seed(3);
  const at::Tensor parallel = at::randn({1, 1, 2, 16}).expand({1, 50, 2, 16});
  EXPECT_NEAR(key_directions(key_moments(parallel)), 1, 1e-4);
  // Four orthogonal directions in both heads, in two samples of a batch.
  const at::Tensor four = at::eye(16).narrow(0, 0, 4).view({2, 2, 1, 16}).expand({2, 2, 2, 16});
  EXPECT_NEAR(key_directions(key_moments(four)), 4, 1e-5);
  EXPECT_NEAR(key_directions(key_moments(at::randn({1, 20000, 2, 16}))), 16, 0.1);
}

TEST(RecurrentRegistry, RejectsUnknownNames) {
  EXPECT_EQ(make_recurrent_memory("none"), nullptr);
  EXPECT_BAD_INPUT(make_recurrent_memory("lstm"),
                   AllOf(HasSubstr("unknown recurrent memory 'lstm'"), HasSubstr("chunk_kda")));
  for (const std::string& name : recurrent_memory_names()) {
    const auto memory = make_recurrent_memory(name);
    if (memory == nullptr) continue;
    const KeyEncoding expected = name == "chunk_kda_no_camera" ? KeyEncoding::kPatch
                                 : name == "ray_kda"           ? KeyEncoding::kRay
                                                               : KeyEncoding::kProjective;
    EXPECT_EQ(memory->encoding(), expected) << name;
    // Only ray_kda differs from the paper's initialisation.
    EXPECT_EQ(memory->gate_start().beta, name == "ray_kda" ? 0.1 : 1) << name;
    EXPECT_EQ(memory->gate_start().retention, name == "ray_kda" ? 0.995 : 0.7) << name;
  }
}

}  // namespace
}  // namespace loci::memory
