// SPDX-License-Identifier: Apache-2.0
#include "loci/sample/stream/stream_options.h"

#include <charconv>

#include "loci/base/choice.h"
#include "loci/base/error.h"

namespace loci::sample {

namespace {

constexpr int64_t kLargestSide = 4096;  // latents
constexpr double kLargestGuidance = 100;

std::string_view name_of(memory::KvFormat format) {
  return memory::kv_format_names()[static_cast<size_t>(format)];
}

}  // namespace

uint64_t parse_seed(const std::string& text, const std::string& where) {
  uint64_t seed = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, seed);
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    fail("{}: the seed '{}' is not an integer from 0 to 2^64 - 1", where, text);
  }
  return seed;
}

void StreamOptions::check() const {
  if (latent_height < 1 || latent_width < 1 || latent_height > kLargestSide ||
      latent_width > kLargestSide) {
    fail("a latent size of {}x{} is out of range; each side must be 1 to {}", latent_width,
         latent_height, kLargestSide);
  }
  if (!(guidance >= 0 && guidance <= kLargestGuidance)) {
    fail("guidance {} is out of range; choose 0 to {} (1 = none)", guidance, kLargestGuidance);
  }
  if (!(commit_level >= 0 && commit_level < 1)) {
    fail("commit level {} is out of range; choose at least 0 and below 1", commit_level);
  }
  if (kv.staging_bytes < 0)
    fail("a staging limit of {} bytes is out of range; choose 0 (no limit) or more",
         kv.staging_bytes);
  make_solver(solver);
  memory::make_history(history);
}

Json StreamOptions::to_json() const {
  Json json = {
      {"latent_size", {latent_height, latent_width}},
      {"history",
       {{"kind", history.kind},
        {"budget", history.budget},
        {"recent", history.recent},
        {"archive", history.archive}}},
      {"kv",
       {{"format", name_of(kv.format)},
        {"offload_main", kv.offload_main},
        {"staging_bytes", kv.staging_bytes}}},
      {"solver", {{"kind", solver.kind}, {"steps", solver.steps}, {"shift", solver.shift}}},
      {"guidance", guidance},
      {"seed", std::to_string(seed)},
      {"commit_level", commit_level},
      {"tiling", {{"tile", tiling.tile}, {"overlap", tiling.overlap}}}};
  if (history.sink != memory::HistoryOptions().sink) json["history"]["sink"] = history.sink;
  return json;
}

StreamOptions StreamOptions::from_json(const Json& json, const std::string& where) {
  const ConfigReader reader(json, where);
  StreamOptions o;
  const auto size = reader.get<std::vector<int64_t>>("latent_size");
  if (size.size() != 2)
    fail("{}: latent_size has {} values; expected height and width", where, size.size());
  o.latent_height = size[0];
  o.latent_width = size[1];
  const ConfigReader history = reader.section("history");
  o.history.kind = history.choose("kind", o.history.kind, memory::history_names());
  o.history.budget = history.get<int64_t>("budget", o.history.budget);
  o.history.recent = history.get<int64_t>("recent", o.history.recent);
  o.history.archive = history.get<int64_t>("archive", o.history.archive);
  o.history.sink = history.get<int64_t>("sink", o.history.sink);
  const ConfigReader kv = reader.section("kv");
  o.kv.format = memory::parse_kv_format(kv.choose("format", "plain", memory::kv_format_names()));
  o.kv.offload_main = kv.get<bool>("offload_main", false);
  o.kv.staging_bytes = kv.get<int64_t>("staging_bytes", 0);
  const ConfigReader solver = reader.section("solver");
  o.solver.kind = solver.choose("kind", o.solver.kind, solver_names());
  o.solver.steps = solver.get<int64_t>("steps", o.solver.steps);
  o.solver.shift = solver.get<double>("shift", o.solver.shift);
  o.guidance = reader.get<double>("guidance", o.guidance);
  o.seed = parse_seed(reader.get<std::string>("seed"), where);
  o.commit_level = reader.get<double>("commit_level", o.commit_level);
  const ConfigReader tiling = reader.section("tiling");
  o.tiling.tile = tiling.get<int64_t>("tile", o.tiling.tile, 0, 1 << 20);
  o.tiling.overlap = tiling.get<int64_t>("overlap", o.tiling.overlap, 0, 1 << 20);
  reader.finish();
  o.check();
  return o;
}

const std::vector<std::string>& readout_names() {
  static const std::vector<std::string> names = {"on", "off", "random"};
  return names;
}

model::Readout parse_readout(const std::string& name) {
  return static_cast<model::Readout>(choice_index("readout", name, readout_names()));
}

std::string_view name_of(model::Readout readout) {
  return readout_names()[static_cast<size_t>(readout)];
}

}  // namespace loci::sample
