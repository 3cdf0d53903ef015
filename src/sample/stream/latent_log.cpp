// SPDX-License-Identifier: Apache-2.0
#include "loci/sample/stream/latent_log.h"

#include <vector>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/output_path.h"
#include "loci/io/tensors/safetensors.h"

namespace loci::sample {

namespace fs = std::filesystem;

namespace {

constexpr const char* kRun = "run.json";
constexpr const char* kTensor = "latents";

// The first key whose values differ; empty if there is none.
std::string difference(const Json& before, const Json& now) {
  for (const auto& [key, value] : now.items()) {
    if (!before.contains(key) || before.at(key) != value) return key;
  }
  for (const auto& [key, value] : before.items()) {
    if (!now.contains(key)) return key;
  }
  return {};
}

// Whether the folder is empty, or has only files of a run that was killed before its first chunk.
bool is_unused(const fs::path& folder) {
  if (!fs::is_directory(folder)) return false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool temporary = name.starts_with('.');
    if (name != FileLock::kFolderLock && !temporary) return false;
  }
  return true;
}

}  // namespace

LatentLog::LatentLog(fs::path folder, bool resume) : folder_(std::move(folder)), resume_(resume) {
  const bool started = fs::exists(folder_ / kRun);
  if (fs::exists(folder_) && !started && !is_unused(folder_)) {
    fail("{} exists and is not the latents folder of a run; move it or choose another output",
         folder_.string());
  }
  if (resume && !started) fail("{} does not exist: there is no run to resume", folder_.string());
  require_output_folder(folder_);
  std::error_code error;
  new_folder_ = fs::create_directory(folder_, error);
  if (error) fail_write(folder_, error.value());
  new_lock_ = !fs::exists(folder_ / FileLock::kFolderLock);
  lock_ = FileLock::lock_folder(folder_, "wait until it ends, or choose another output");
  if (!fs::exists(folder_ / kRun)) return;
  const Json before = load_json(folder_ / kRun);
  if (!before.is_object()) {
    fail("{} is not the record of a run; move the folder or choose another output",
         (folder_ / kRun).string());
  }
  if (!resume && before.value("finished", Json()) != true) {
    fail("{} has an unfinished run; continue it with --resume, or delete the folder",
         folder_.string());
  }
}

LatentLog::~LatentLog() {
  std::error_code ignored;
  if (begun_ || !lock_) return;
  if (new_folder_ || new_lock_) fs::remove(folder_ / FileLock::kFolderLock, ignored);
  if (new_folder_) fs::remove(folder_, ignored);
}

void LatentLog::set_run(const Json& run) {
  run_ = run;
  if (!resume_) return;
  const Json before = load_json(folder_ / kRun);
  const std::string key = difference(before.value("run", Json::object()), run_);
  if (!key.empty()) {
    fail("{} was started with another '{}'; resume it with the original options", folder_.string(),
         key);
  }
  while (fs::exists(file(size_))) ++size_;
  begun_ = true;
}

void LatentLog::begin() {
  begun_ = true;
  flush_to_disk(folder_of(folder_));
  // If this is interrupted, run.json still describes the finished run, and the next run deletes the
  // remaining files. The flush prevents a power loss that keeps the new run.json and old latents.
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().extension() == ".safetensors") old.push_back(entry.path());
  }
  for (const fs::path& latents : old) fs::remove(latents);
  flush_to_disk(folder_);
  write_run(/*finished=*/false);
}

fs::path LatentLog::file(int64_t index) const {
  return folder_ / fmt::format("{:05}.safetensors", index);
}

void LatentLog::write_run(bool finished) const {
  const Json json = {{"finished", finished}, {"run", run_}};
  write_file(folder_ / kRun, json.dump(2) + "\n");
}

at::Tensor LatentLog::read(int64_t index) const {
  return io::SafetensorsFile::open(file(index)).tensor(kTensor);
}

void LatentLog::add(const at::Tensor& latents) {
  if (!begun_) begin();
  io::write_safetensors(file(size_), {{kTensor, latents}});
  ++size_;
}

void LatentLog::finish() {
  if (!begun_) begin();
  write_run(/*finished=*/true);
}

}  // namespace loci::sample
