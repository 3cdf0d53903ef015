// SPDX-License-Identifier: Apache-2.0
#include "loci/train/loop/run_folder.h"

#include <algorithm>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/interrupt.h"
#include "loci/base/remove_folder.h"
#include "loci/base/text.h"
#include "loci/sample/stream/finite.h"

namespace loci::train {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "checkpoint-";

std::vector<std::pair<int64_t, fs::path>> checkpoints(const fs::path& folder) {
  std::vector<std::pair<int64_t, fs::path>> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || !name.starts_with(kPrefix)) continue;
    if (const auto update = parse_int(std::string_view(name).substr(kPrefix.size()))) {
      found.emplace_back(*update, entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

io::NamedTensors read_all(const fs::path& file) {
  const io::SafetensorsFile stored = io::SafetensorsFile::open(file);
  io::NamedTensors tensors;
  for (const io::TensorInfo& info : stored.tensors()) {
    tensors.emplace_back(info.name, stored.tensor(info.name));
  }
  return tensors;
}

}  // namespace

std::map<std::string, at::Tensor> by_name(const io::NamedTensors& tensors) {
  return {tensors.begin(), tensors.end()};
}

RunFolder::RunFolder(fs::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) fail("cannot create the folder {}: {}", folder_.string(), error.message());
}

void RunFolder::save(const TrainingState& state, int64_t keep) const {
  for (const io::NamedTensors* part : {&state.model, &state.ema, &state.optimizer}) {
    for (const auto& [name, tensor] : *part) {
      if (sample::all_finite(tensor)) continue;
      fail_check(
          "no checkpoint written at update {}: {} contains NaN or infinite values; the previous "
          "checkpoint in {} is unchanged",
          state.update, name, folder_.string());
    }
  }
  const DeferInterrupts defer;  // an interrupt is a reason to save
  AtomicDirectory target(folder_ / fmt::format("{}{:08}", kPrefix, state.update),
                         AtomicDirectory::Existing::kReplace);
  const fs::path& inside = target.temporary();
  io::write_safetensors(inside / "model.safetensors", state.model);
  io::write_safetensors(inside / "ema.safetensors", state.ema);
  io::write_safetensors(inside / "optimizer.safetensors", state.optimizer);
  write_file(inside / "config.json", state.config.dump(2) + "\n");
  write_file(inside / "state.json", Json{{"update", state.update}}.dump(2) + "\n");
  target.commit();
  const auto all = checkpoints(folder_);
  for (size_t i = 0; i + static_cast<size_t>(keep) < all.size(); ++i) {
    remove_folder(all[i].second);
  }
}

std::optional<TrainingState> RunFolder::load_newest() const {
  const auto all = checkpoints(folder_);
  if (all.empty()) return std::nullopt;
  const fs::path& newest = all.back().second;
  TrainingState state;
  const ConfigReader reader(load_json(newest / "state.json"), (newest / "state.json").string());
  state.update = reader.get<int64_t>("update");
  state.config = load_json(newest / "config.json");
  state.model = read_all(newest / "model.safetensors");
  state.ema = read_all(newest / "ema.safetensors");
  state.optimizer = read_all(newest / "optimizer.safetensors");
  return state;
}

}  // namespace loci::train
