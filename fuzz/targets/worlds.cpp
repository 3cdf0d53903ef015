// SPDX-License-Identifier: Apache-2.0
// Saved worlds, and chunks of worlds stored by the server.
#include <array>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/memory/history/history_registry.h"
#include "loci/sample/stream/stream.h"
#include "loci/serve/storage/chunk_record.h"
#include "loci/serve/storage/world_folder.h"

#include "fuzz/edits.h"
#include "fuzz/target.h"
#include "tests/model/tiny_model.h"

namespace loci::fuzz {

namespace {

constexpr int64_t kHeight = 4, kWidth = 6;

const model::Transformer& transformer() {
  static const model::Transformer made =
      loci::testing::random_transformer(loci::testing::tiny_config());
  return made;
}

std::vector<camera::Camera> walk(int64_t first, int64_t count) {
  std::vector<camera::Camera> cameras(count);
  for (int64_t i = 0; i < count; ++i) {
    cameras[i].pose.rotation =
        camera::rotation_from_angles(0.2 * static_cast<double>(first + i), 0);
  }
  return cameras;
}

// A world of one frame and three chunks, for each history policy.
std::filesystem::path make_world(const std::string& history) {
  sample::StreamOptions options;
  options.latent_height = kHeight;
  options.latent_width = kWidth;
  options.history.kind = history;
  options.history.budget = 4;
  options.history.recent = 2;
  options.solver.steps = 1;
  options.guidance = history == "dense" ? 2 : 1;
  sample::Stream stream(transformer(), nullptr, options, {});
  stream.accept(at::zeros({1, transformer().config().channels, 1, kHeight, kWidth}), walk(0, 1));
  for (int64_t i = 0; i < 3; ++i) stream.push(walk(1 + 2 * i, 2));
  std::filesystem::path file = scratch_folder() / ("base-" + history);
  stream.save(file);
  return file;
}

std::filesystem::path make_chunk() {
  serve::ChunkRecord record;
  record.index = 1;
  record.cameras = walk(0, 2);
  record.prompt = "a hill";
  record.views.resize(2);
  for (serve::ChunkRecord::View& view : record.views) {
    view.latents = at::zeros({1, 3, 2, kHeight, kWidth});
    view.thumbnails = {"abc", "defg"};
    view.newest = "hij";
  }
  std::filesystem::path file = scratch_folder() / "base-chunk";
  serve::write_chunk(file, record);
  return file;
}

}  // namespace

// The first byte selects the history policy of the base world, the rest are edits. If the edited
// world is accepted, it must continue with finite numbers.
LOCI_FUZZ_TARGET(world) {
  static const std::vector<std::filesystem::path> worlds = [] {
    std::vector<std::filesystem::path> made;
    for (const std::string& history : memory::history_names()) made.push_back(make_world(history));
    return made;
  }();
  const std::filesystem::path changed = scratch_folder() / "world";
  edit_safetensors(worlds[take_choice(bytes, worlds.size())], changed, bytes);
  static const sample::ModelHashes hashes = sample::hash_models(transformer(), nullptr);
  sample::Stream stream = sample::Stream::load(changed, transformer(), nullptr, hashes);
  if (stream.options().solver.steps > 4) return;  // valid but slow
  const sample::Chunk chunk = stream.push(walk(7, 2));
  LOCI_CHECK(at::isfinite(chunk.latents).all().item<bool>(), "an accepted world generates NaN");
}

LOCI_FUZZ_TARGET(world_chunk) {
  static const std::filesystem::path base = make_chunk();
  const std::filesystem::path changed = scratch_folder() / "chunk";
  edit_safetensors(base, changed, bytes);
  serve::read_chunk(changed);
}

// The file world.json of a world stored by the server.
LOCI_FUZZ_TARGET(world_facts) {
  serve::WorldFacts::from_json(parse_json(bytes, "world.json"), "world.json").to_json();
}

}  // namespace loci::fuzz
