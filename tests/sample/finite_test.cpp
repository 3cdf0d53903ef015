// SPDX-License-Identifier: Apache-2.0
// NaN and infinite values, and extreme cameras.
#include "loci/sample/stream/finite.h"

#include <limits>
#include <numbers>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/io/tensors/safetensors.h"
#include "loci/sample/stream/stream.h"

#include "tests/base/expect_error.h"
#include "tests/model/tiny_model.h"
#include "tests/sample/tiny_folder.h"

namespace loci::sample {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kHeight = 4, kWidth = 6;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Finite : public ::testing::Test {
 protected:
  static StreamOptions options(const std::string& history = "sparse", double guidance = 1) {
    StreamOptions options = testing::tiny_stream_options(history, 2);
    options.guidance = guidance;
    return options;
  }
  Stream begun(const StreamOptions& options, const model::Vae* vae = nullptr) const {
    Stream stream(model_, vae, options, {});
    stream.accept(at::randn({1, 3, 1, kHeight, kWidth}), std::vector<camera::Camera>(1));
    return stream;
  }
  static std::vector<camera::Camera> still(size_t count = 2) {
    return {count, {camera::Pose(), {.fov_x = 1.4}}};
  }
  // Sets one element of a parameter to `value` during its lifetime.
  class Broken {
   public:
    Broken(const model::Transformer& model, const std::string& part, double value) {
      for (const model::Parameter& parameter : model.parameters().all()) {
        if (parameter.name.find(part) == std::string::npos) continue;
        tensor_ = parameter.tensor;
        break;
      }
      LOCI_CHECK(tensor_.defined(), "no parameter is called {}", part);
      const at::NoGradGuard no_grad;
      kept_ = tensor_.clone();
      tensor_.view({-1})[0] = value;
    }
    ~Broken() {
      const at::NoGradGuard no_grad;
      tensor_.copy_(kept_);
    }

   private:
    at::Tensor tensor_, kept_;
  };

  const model::Transformer model_ = testing::random_transformer(testing::tiny_config());
};

TEST_F(Finite, DetectsNaNAndInfinity) {
  EXPECT_TRUE(all_finite({}));
  EXPECT_TRUE(all_finite(at::zeros({0})));
  EXPECT_TRUE(all_finite(at::ones({3}, at::kLong)));
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    for (const double bad : {kNaN, kInfinity, -kInfinity}) {
      at::Tensor tensor = at::randn({7, 33}).to(type);
      EXPECT_TRUE(all_finite(tensor));
      tensor[6][32] = bad;
      EXPECT_FALSE(all_finite(tensor)) << bad;
      tensor[0][0] = -bad;  // infinities of opposite sign
      EXPECT_FALSE(all_finite(tensor)) << bad;
    }
  }
  // Large finite values are accepted even if their sum overflows.
  EXPECT_TRUE(all_finite(at::full({1000}, std::numeric_limits<float>::max(), at::kFloat)));
}

TEST_F(Finite, ANonFiniteStepNamesChunkAndLayerAndKeepsNothing) {
  for (const double guidance : {1.0, 2.0}) {
    Stream stream = begun(options("sparse", guidance)), twin = stream.fork();
    twin.push(still());
    stream.push(still());
    for (const std::string layer : {"0", "1"}) {
      const Broken broken(model_, "blocks." + layer + ".ffn", kNaN);
      LOCI_EXPECT_ERROR(stream.push(still()), kCheckFailed,
                        AllOf(HasSubstr("chunk "), HasSubstr("layer " + layer + " has NaN")));
    }
    // With the weight restored, the stream continues without a difference.
    EXPECT_EQ(stream.frames(), twin.frames());
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(at::equal(stream.push(still()).latents, twin.push(still()).latents));
    }
  }
}

TEST_F(Finite, ANonFiniteCommitChangesNeitherSetOfStates) {
  // The commit of the negative prompt fails after that of the prompt has been computed.
  Stream stream = begun(options("dense", 2)), twin = stream.fork();
  twin.push(still());
  stream.push(still());
  {
    const Broken broken(model_, "blocks.1.", kInfinity);
    LOCI_EXPECT_ERROR(stream.commit(), kCheckFailed, HasSubstr("chunk 1"));
  }
  EXPECT_TRUE(at::equal(stream.push(still()).latents, twin.push(still()).latents));
  for (const auto& [a, b] :
       {std::pair(&stream.main(), &twin.main()), std::pair(stream.negative(), twin.negative())}) {
    EXPECT_EQ(a->next_frame(), b->next_frame());
    EXPECT_TRUE(at::equal(a->states()[1], b->states()[1]));
  }
}

TEST_F(Finite, LatentsAndCamerasMustBeFinite) {
  Stream stream = begun(options());
  at::Tensor latents = at::zeros({1, 3, 2, kHeight, kWidth});
  latents[0][1][1][2][3] = kNaN;
  EXPECT_BAD_INPUT(stream.accept(latents, still()), HasSubstr("not finite"));
  auto cameras = still();
  cameras[1].pose.position.y = kInfinity;
  EXPECT_BAD_INPUT(stream.push(cameras), HasSubstr("latent 2"));
  cameras = still();
  cameras[0].pose.rotation(1, 1) = kNaN;
  EXPECT_BAD_INPUT(stream.push(cameras), HasSubstr("latent 1"));
  cameras = still();
  cameras[0].lens.fov_x = kNaN;
  EXPECT_BAD_INPUT(stream.push(cameras), HasSubstr("latent 1"));
  EXPECT_EQ(stream.frames(), 1);
  stream.push(still());
}

TEST_F(Finite, WorldFilesAreFinite) {
  const std::string file = testing::temporary_world("finite");
  Stream stream = begun(options());
  stream.push(still());
  stream.save(file);
  const std::string good = read_file(file);
  // A modified file.
  const io::SafetensorsFile stored = io::SafetensorsFile::open(file);
  for (const std::string name : {"main.state.1", "main.policy.poses", "last_lens"}) {
    io::NamedTensors tensors;
    for (const io::TensorInfo& info : stored.tensors()) {
      tensors.emplace_back(info.name, stored.tensor(info.name).clone());
      if (info.name == name) tensors.back().second.view({-1})[0] = kNaN;
    }
    io::write_safetensors(file, tensors, stored.metadata());
    EXPECT_BAD_INPUT(Stream::load(file, model_, nullptr),
                     AllOf(HasSubstr(name), HasSubstr("NaN or infinite")));
  }
  // An autoencoder with non-finite output: its state is not saved.
  const model::Vae vae(testing::tiny_vae_config());
  Stream shown = begun(options(), &vae);
  write_file(file, good);
  {
    const at::NoGradGuard no_grad;
    at::Tensor weight = vae.parameters().all().back().tensor;
    weight.view({-1})[0] = kNaN;
  }
  LOCI_EXPECT_ERROR(shown.push(still()), kCheckFailed, HasSubstr("autoencoder"));
  LOCI_EXPECT_ERROR(shown.save(file), kCheckFailed, HasSubstr("NaN or infinite"));
  EXPECT_EQ(read_file(file), good);
  std::filesystem::remove(file);
}

// Chunks of two poses each.
std::vector<std::pair<std::string, std::vector<camera::Pose>>> extreme_walks() {
  const auto at = [](double x, double y, double z) {
    camera::Pose pose;
    pose.position = {x, y, z};
    return pose;
  };
  const auto turned = [](double yaw, double pitch, double roll) {
    camera::Pose pose;
    pose.rotation = camera::rotation_from_angles(yaw, pitch, roll);
    return pose;
  };
  constexpr double kHalf = std::numbers::pi;
  return {
      {"no motion", {at(0, 0, 0), at(0, 0, 0), at(0, 0, 0), at(0, 0, 0)}},
      {"teleport", {at(500, 0, 0), at(-500, 3, 80), at(0, 0, 0), at(0, 900, -900)}},
      {"half turns",
       {turned(kHalf, 0, 0), turned(0, 0, 0), turned(kHalf, 0, 0), turned(0, kHalf, 0)}},
      {"roll",
       {turned(0, 0, kHalf / 2), turned(0, 0, kHalf), turned(0, 0, -kHalf / 2),
        turned(0.3, kHalf / 2, 1)}},
      {"10 km away", {at(1e4, 0, 0), at(0, 0, 1e4), at(-1e4, 1e4, -1e4), at(0, 0, 0)}},
      {"the farthest that paths may go",
       {at(1e9, 0, 0), at(0, -1e9, 0), at(0, 0, 1e9), at(0, 0, 0)}},
  };
}

TEST_F(Finite, ExtremeCamerasGiveFiniteResultsWithEveryHistory) {
  for (const std::string& history : memory::history_names()) {
    for (const auto& [name, poses] : extreme_walks()) {
      for (const double fov : {1e-3, 0.02, 1.4, 3.1}) {
        Stream stream = begun(options(history));
        for (size_t i = 0; i < poses.size(); i += 2) {
          const Chunk chunk =
              stream.push(camera::with_lens(std::span(poses).subspan(i, 2), {.fov_x = fov}));
          EXPECT_TRUE(all_finite(chunk.latents)) << history << ", " << name << ", " << fov;
        }
        stream.commit();
        for (const at::Tensor& state : stream.main().states()) EXPECT_TRUE(all_finite(state));
      }
    }
  }
}

TEST_F(Finite, AnEmptyTextEmbeddingEqualsNoText) {
  Stream none(model_, nullptr, options(), {});
  Stream empty(model_, nullptr, options(), {"", at::zeros({0, 16}), "", at::zeros({0, 16})});
  for (Stream* stream : {&none, &empty}) {
    stream->accept(at::ones({1, 3, 1, kHeight, kWidth}), still(1));
  }
  EXPECT_TRUE(at::equal(none.push(still()).latents, empty.push(still()).latents));
}

}  // namespace
}  // namespace loci::sample
