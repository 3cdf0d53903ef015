// SPDX-License-Identifier: Apache-2.0
#include "loci/train/loop/run_folder.h"

#include <algorithm>
#include <array>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/base/output_path.h"
#include "loci/base/text.h"
#include "loci/sample/stream/finite.h"

namespace loci::train {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "checkpoint-";
constexpr const char* kModel = "model.safetensors";
constexpr const char* kEma = "ema.safetensors";
constexpr const char* kOptimizer = "optimizer.safetensors";
constexpr const char* kConfig = "config.json";
constexpr std::array kFiles = {kModel, kEma, kOptimizer, kConfig};  // with checksums
constexpr const char* kTask = "task.safetensors";                   // likewise, if it exists
constexpr const char* kState = "state.json";

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

fs::path checkpoint_path(const fs::path& folder, int64_t update) {
  return folder / fmt::format("{}{:08}", kPrefix, update);
}

SavedState open_checkpoint(const fs::path& path, int64_t update) {
  SavedState state{.folder = path,
                   .update = update,
                   .model = io::SafetensorsFile::open(path / kModel),
                   .ema = io::SafetensorsFile::open(path / kEma),
                   .optimizer = io::SafetensorsFile::open(path / kOptimizer),
                   .task = {},
                   .config = load_json(path / kConfig),
                   .definition = {}};
  if (fs::exists(path / kTask)) state.task = io::SafetensorsFile::open(path / kTask);
  const Json facts = load_json(path / kState);
  if (facts.contains("definition")) {
    state.definition = RunDefinition::from_json(facts.at("definition"), (path / kState).string());
  }
  return state;
}

// Why the checkpoint cannot be used; empty if it is intact. Checkpoints without checksums are
// accepted if their files can be opened.
std::string damage_of(const fs::path& checkpoint, int64_t update) {
  try {
    const fs::path file = checkpoint / kState;
    const ConfigReader state(load_json(file), file.string());
    if (state.get<int64_t>("update") != update) {
      return fmt::format("{} belongs to another update", kState);
    }
    const Json hashes = state.section("hashes").json();
    std::vector<std::string> names(kFiles.begin(), kFiles.end());
    if (hashes.contains(kTask)) names.emplace_back(kTask);
    for (const std::string& name : names) {
      const io::InputFile input = io::InputFile::open(checkpoint / name);
      if (!hashes.empty() && hashes.value(name, Json()) != input.hash()) {
        return fmt::format("{} does not match its checksum", name);
      }
    }
    open_checkpoint(checkpoint, update);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// Renames a damaged checkpoint, so that it does not count as one.
fs::path set_checkpoint_aside(const fs::path& checkpoint) {
  fs::path name = checkpoint.string() + ".damaged";
  for (int i = 2; fs::exists(name); ++i) {
    name = fmt::format("{}.damaged-{}", checkpoint.string(), i);
  }
  fs::rename(checkpoint, name);
  return name;
}

}  // namespace

RunFolder::RunFolder(fs::path folder) : folder_(std::move(folder)) { make_folders(folder_); }

void RunFolder::lock() {
  lock_ = FileLock::lock_folder(folder_, "wait until it ends, or choose another --out");
}

void RunFolder::save(const TrainingState& state, int64_t keep) const {
  for (const io::NamedTensors* part : {&state.model, &state.ema, &state.optimizer, &state.task}) {
    for (const auto& [name, tensor] : *part) {
      if (sample::all_finite(tensor)) continue;
      fail_check(
          "no checkpoint written at update {}: {} contains NaN or infinite values; the previous "
          "checkpoint in {} is unchanged",
          state.update, name, folder_.string());
    }
  }
  const DeferInterrupts defer;  // an interrupt is a reason to save
  AtomicDirectory target(checkpoint_path(folder_, state.update),
                         AtomicDirectory::Existing::kReplace);
  const fs::path& inside = target.temporary();
  io::write_safetensors(inside / kModel, state.model);
  io::write_safetensors(inside / kEma, state.ema);
  io::write_safetensors(inside / kOptimizer, state.optimizer);
  write_file(inside / kConfig, state.config.dump(2) + "\n");
  Json hashes = Json::object();
  for (const char* name : kFiles) hashes[name] = io::InputFile::open(inside / name).hash();
  if (!state.task.empty()) {
    io::write_safetensors(inside / kTask, state.task);
    hashes[kTask] = io::InputFile::open(inside / kTask).hash();
  }
  const Json facts = {
      {"update", state.update}, {"definition", state.definition.to_json()}, {"hashes", hashes}};
  write_file(inside / kState, facts.dump(2) + "\n");
  target.commit();
  const auto all = checkpoints(folder_);
  for (size_t i = 0; i + static_cast<size_t>(keep) < all.size(); ++i) {
    remove_folder(all[i].second);
  }
}

std::optional<int64_t> RunFolder::newest() const {
  const auto all = checkpoints(folder_);
  if (all.empty()) return std::nullopt;
  return all.back().first;
}

std::optional<int64_t> RunFolder::find_intact(bool set_aside) const {
  const auto all = checkpoints(folder_);
  std::vector<std::pair<fs::path, std::string>> damaged;  // with the reason
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    const auto& [update, path] = *at;
    const std::string reason = damage_of(path, update);
    if (!reason.empty()) {
      damaged.emplace_back(path, reason);
      continue;
    }
    for (const auto& [folder, why] : damaged) {
      LOCI_CHECK(!set_aside || lock_, "{} is not locked", folder_.string());
      const fs::path now = set_aside ? set_checkpoint_aside(folder) : folder;
      log_warning("{} is damaged ({}){}; continuing with update {}", folder.string(), why,
                  set_aside ? ", renamed to " + now.filename().string() : "", update);
    }
    return update;
  }
  if (damaged.empty()) return std::nullopt;
  fail("{}: all checkpoints are damaged, the newest one because {}; restore one of them",
       folder_.string(), damaged.front().second);
}

SavedState RunFolder::open(int64_t update) const {
  return open_checkpoint(checkpoint_path(folder_, update), update);
}

}  // namespace loci::train
