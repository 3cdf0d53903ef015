// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/storage/chunk_record.h"

#include <cstring>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/io/tensors/safetensors.h"
#include "loci/sample/stream/pose_tensors.h"
#include "loci/sample/stream/stream_options.h"

namespace loci::serve {

namespace {

constexpr const char* kKey = "loci.chunk";
constexpr int64_t kVersion = 1;
constexpr size_t kMostViews = 2;

at::Tensor bytes_tensor(const std::string& bytes) {
  at::Tensor tensor = at::empty({static_cast<int64_t>(bytes.size())}, at::kByte);
  if (!bytes.empty()) std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

std::string bytes_from(const at::Tensor& tensor, const std::string& where) {
  if (tensor.scalar_type() != at::kByte || tensor.dim() != 1)
    fail("{}: expected a one-dimensional tensor of bytes", where);
  const at::Tensor dense = tensor.contiguous();
  return {static_cast<const char*>(dense.const_data_ptr()), static_cast<size_t>(dense.numel())};
}

}  // namespace

Json ViewSettings::to_json() const {
  Json json = {{"history", history.kind},
               {"history_frames", history.budget},
               {"recent", history.recent},
               {"archive", history.archive},
               {"solver", solver.kind},
               {"steps", solver.steps},
               {"shift", solver.shift},
               {"readout", readout},
               {"reset", reset}};
  if (history.sink != memory::HistoryOptions().sink) json["sink"] = history.sink;
  return json;
}

ViewSettings ViewSettings::from_json(const Json& json, const std::string& where) {
  const ConfigReader reader(json, where);
  ViewSettings s;
  s.history.kind = reader.choose("history", s.history.kind, memory::history_names());
  s.history.budget = reader.get<int64_t>("history_frames", s.history.budget, 1, 1 << 20);
  s.history.recent = reader.get<int64_t>("recent", s.history.recent, 0, 1 << 20);
  s.history.archive = reader.get<int64_t>("archive", s.history.archive, 0, 1 << 30);
  s.history.sink = reader.get<int64_t>("sink", s.history.sink, 0, 1 << 20);
  s.solver.kind = reader.choose("solver", s.solver.kind, sample::solver_names());
  s.solver.steps = reader.get<int64_t>("steps", s.solver.steps, 1, 1000);
  s.solver.shift = reader.get<double>("shift", s.solver.shift, 1e-3, 1000);
  s.readout = reader.choose("readout", s.readout, sample::readout_names());
  s.reset = reader.get<bool>("reset", false);
  return s;
}

void write_chunk(const std::filesystem::path& file, const ChunkRecord& record) {
  io::NamedTensors tensors;
  tensors.emplace_back("poses", sample::pose_tensor(record.cameras));
  tensors.emplace_back("lenses", sample::lens_tensor(record.cameras));
  Json views = Json::array();
  for (size_t v = 0; v < record.views.size(); ++v) {
    const ChunkRecord::View& view = record.views[v];
    Json lengths = Json::array();
    std::string thumbnails;
    for (const std::string& jpeg : view.thumbnails) {
      lengths.push_back(jpeg.size());
      thumbnails += jpeg;
    }
    tensors.emplace_back(fmt::format("latents.{}", v), view.latents);
    tensors.emplace_back(fmt::format("thumbnails.{}", v), bytes_tensor(thumbnails));
    tensors.emplace_back(fmt::format("newest.{}", v), bytes_tensor(view.newest));
    views.push_back({{"settings", view.settings.to_json()}, {"thumbnails", lengths}});
  }
  const Json header = {{"version", kVersion},      {"index", record.index},
                       {"prompt", record.prompt},  {"negative", record.negative},
                       {"given", record.recorded}, {"views", std::move(views)}};
  io::write_safetensors(file, tensors, {{kKey, header.dump()}});
}

ChunkRecord read_chunk(const std::filesystem::path& path) {
  const io::SafetensorsFile file = io::SafetensorsFile::open(path);
  const std::string where = path.string();
  const auto found = file.metadata().find(kKey);
  if (found == file.metadata().end())
    fail("{} is not a chunk record: its metadata has no {}", where, kKey);
  const ConfigReader reader(parse_json(found->second, where), where);
  const auto version = reader.get<int64_t>("version");
  if (version != kVersion) {
    fail("{} has version {}; this program reads version {}", where, version, kVersion);
  }
  ChunkRecord record;
  record.index = reader.get<int64_t>("index");
  record.prompt = reader.get<std::string>("prompt");
  record.negative = reader.get<std::string>("negative");
  record.recorded = reader.get<bool>("given", record.index == 0);
  record.cameras = sample::cameras_from(file.tensor("poses"), file.tensor("lenses"), where);
  const Json views = reader.json().value("views", Json::array());
  if (!views.is_array() || views.empty() || views.size() > kMostViews) {
    fail("{}: expected 1 to {} views", where, kMostViews);
  }
  for (size_t v = 0; v < views.size(); ++v) {
    const ConfigReader part(views[v], where + ": views");
    ChunkRecord::View view;
    view.settings = ViewSettings::from_json(part.section("settings").json(), where);
    view.latents = file.tensor(fmt::format("latents.{}", v));
    view.newest = bytes_from(file.tensor(fmt::format("newest.{}", v)), where);
    const std::string all = bytes_from(file.tensor(fmt::format("thumbnails.{}", v)), where);
    size_t at = 0;
    for (const auto length : part.get<std::vector<int64_t>>("thumbnails")) {
      if (length < 0 || static_cast<size_t>(length) > all.size() - at) {
        fail("{}: the thumbnails are shorter than their lengths say", where);
      }
      view.thumbnails.push_back(all.substr(at, static_cast<size_t>(length)));
      at += static_cast<size_t>(length);
    }
    record.views.push_back(std::move(view));
  }
  return record;
}

}  // namespace loci::serve
