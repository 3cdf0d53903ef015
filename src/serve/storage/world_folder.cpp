// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/storage/world_folder.h"

#include <algorithm>
#include <utility>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/output_path.h"
#include "loci/sample/stream/stream_options.h"
#include "loci/serve/storage/shelf.h"

namespace loci::serve {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kVersion = 1;

}  // namespace

Json WorldFacts::to_json() const {
  Json list = Json::array();
  for (const View& view : views) {
    list.push_back({{"model", view.model}, {"weights", view.weights}});
    if (view.since == 0) continue;
    list.back()["since"] = view.since;
    list.back()["settings"] = view.settings.to_json();
  }
  Json json = {{"version", kVersion},
               {"id", id},
               {"kind", kind},
               {"name", name},
               {"parent", parent},
               {"created", created},
               {"size", {width, height}},
               {"fps", fps},
               {"fov", fov},
               {"guidance", guidance},
               {"seed", std::to_string(seed)},
               {"prompt", prompt},
               {"chunk_latents", chunk_latents},
               {"frames_per_latent", frames_per_latent},
               {"views", std::move(list)}};
  if (given_in_chunk) json["given_in_chunk"] = true;
  if (camera_at_start) json["camera_at_start"] = true;
  return json;
}

WorldFacts WorldFacts::from_json(const Json& json, const std::string& where) {
  const ConfigReader reader(json, where);
  const auto version = reader.get<int64_t>("version");
  if (version != kVersion) {
    fail("{} has version {}; this program reads version {}", where, version, kVersion);
  }
  WorldFacts f;
  f.id = reader.get<std::string>("id");
  f.kind = reader.choose("kind", "live", {"live", "saved"});
  f.name = reader.get<std::string>("name", "");
  f.parent = reader.get<std::string>("parent", "");
  f.created = reader.get<int64_t>("created");
  const auto size = reader.get<std::vector<int64_t>>("size");
  if (size.size() != 2)
    fail("{}: size has {} numbers; expected width and height", where, size.size());
  f.width = size[0];
  f.height = size[1];
  f.fps = reader.get<double>("fps", 16, 1, 1000);
  f.fov = reader.get<double>("fov", 90, 1, 179);
  f.guidance = reader.get<double>("guidance", 1, 0, 100);
  f.seed = sample::parse_seed(reader.get<std::string>("seed"), where);
  f.prompt = reader.get<std::string>("prompt", "");
  f.chunk_latents = reader.get<int64_t>("chunk_latents", 5, 1, 1 << 20);
  f.given_in_chunk = reader.get<bool>("given_in_chunk", false);
  f.camera_at_start = reader.get<bool>("camera_at_start", false);
  if (f.given_in_chunk && f.chunk_latents < 2) {
    fail("{}: given_in_chunk requires at least 2 chunk_latents, got {}", where, f.chunk_latents);
  }
  f.frames_per_latent = reader.get<int64_t>("frames_per_latent", 4, 1, 1 << 10);
  const Json views = reader.json().value("views", Json::array());
  if (!views.is_array() || views.empty() || views.size() > 2)
    fail("{}: expected a list of one or two views", where);
  for (const Json& view : views) {
    const ConfigReader part(view, where + ": views");
    WorldFacts::View& added = f.views.emplace_back();
    added.model = part.get<std::string>("model");
    added.weights = part.get<std::string>("weights");
    added.since = part.get<int64_t>("since", 0, 0, INT64_MAX);
    if (added.since > 0) {
      added.settings = ViewSettings::from_json(part.section("settings").json(), where);
    }
  }
  if (f.views.front().since > 0) fail("{}: the first view must begin with chunk 0", where);
  return f;
}

WorldFolder::WorldFolder(fs::path path, WorldFacts facts, FileLock lock, int64_t most_chunks)
    : path_(std::move(path)),
      facts_(std::move(facts)),
      lock_(std::move(lock)),
      chunks_(std::min(most_chunks, count_chunks(path_))) {}

fs::path WorldFolder::chunk_file(const fs::path& world, int64_t index) {
  return world / "chunks" / fmt::format("{:07}.safetensors", index);
}

int64_t WorldFolder::count_chunks(const fs::path& world) {
  const auto there = [&](int64_t index) { return file_exists(chunk_file(world, index)); };
  if (!there(0)) return 0;
  int64_t low = 0, high = 1;  // chunk `low` exists
  while (there(high)) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (there(middle) ? low : high) = middle;
  }
  return high;
}

WorldFacts WorldFolder::read_facts(const fs::path& world) {
  const fs::path file = world / "world.json";
  return WorldFacts::from_json(load_json(file), file.string());
}

void WorldFolder::write_facts(const fs::path& world, const WorldFacts& facts) {
  write_file(world / "world.json", facts.to_json().dump(1));
}

ChunkRecord WorldFolder::read(int64_t index) const {
  LOCI_CHECK(index >= 0 && index < chunks_, "chunk {} of {}", index, chunks_);
  return read_record(path_, facts_, index);
}

ChunkRecord WorldFolder::read_record(const fs::path& world, const WorldFacts& facts,
                                     int64_t index) {
  const fs::path file = chunk_file(world, index);
  ChunkRecord record = read_chunk(file);
  const size_t written = record.views.size();
  record.views.resize(facts.views.size());  // the record may contain a view that was dropped
  for (size_t v = 0; v < facts.views.size(); ++v) {
    const bool joined = index >= facts.views[v].since;
    if (record.index != index || (joined && v >= written)) {
      fail("{} is chunk {} with {} views; expected chunk {} with {}", file.string(), record.index,
           written, index, facts.views.size());
    }
    if (joined) continue;
    const bool reset = record.views.front().settings.reset;
    record.views[v] = record.views.front();
    record.views[v].settings = facts.views[v].settings;
    record.views[v].settings.reset = reset;
  }
  return record;
}

uint64_t WorldFolder::append(const ChunkRecord& record) {
  LOCI_CHECK(record.index == chunks_, "chunk {} was appended to {} chunks", record.index, chunks_);
  const fs::path file = chunk_file(path_, record.index);
  write_chunk(file, record);
  ++chunks_;
  std::error_code ignored;
  const auto size = fs::file_size(file, ignored);
  return ignored ? 0 : size;
}

void WorldFolder::set_views(std::vector<WorldFacts::View> views) {
  LOCI_CHECK(lock_ && !views.empty(), "set_views() needs the lock and at least one view");
  // Delete snapshots first. A view without a snapshot is read back from the records; a snapshot
  // without its view would be loaded for another one.
  for (size_t v = 1; v < std::max(views.size(), facts_.views.size()); ++v) fs::remove(snapshot(v));
  flush_to_disk(path_);
  facts_.name = read_facts(path_).name;  // another client may have renamed the world
  facts_.views = std::move(views);
  write_facts(path_, facts_);
}

fs::path WorldFolder::snapshot(size_t view) const {
  return path_ / fmt::format("memory.{}.safetensors", view);
}

}  // namespace loci::serve
