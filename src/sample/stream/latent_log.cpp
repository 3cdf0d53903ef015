// SPDX-License-Identifier: Apache-2.0
#include "loci/sample/stream/latent_log.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/file.h"
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

}  // namespace

LatentLog::LatentLog(fs::path folder, const Json& run, bool resume)
    : folder_(std::move(folder)), run_(run) {
  if (fs::exists(folder_) && !fs::exists(folder_ / kRun) &&
      !(fs::is_directory(folder_) && fs::is_empty(folder_))) {
    fail("{} exists and is not the latents folder of a run; move it or choose another output",
         folder_.string());
  }
  if (fs::exists(folder_ / kRun)) {
    const Json before = load_json(folder_ / kRun);
    if (!before.is_object())
      fail("{} is not the record of a run; move the folder or choose another output",
           (folder_ / kRun).string());
    const bool finished = before.value("finished", Json()) == true;
    if (resume) {
      const std::string key = difference(before.value("run", Json::object()), run_);
      if (!key.empty()) {
        fail("{} was started with another '{}'; resume it with the original options",
             folder_.string(), key);
      }
      while (fs::exists(file(size_))) ++size_;
      begun_ = true;
      return;
    }
    if (!finished) {
      fail("{} has an unfinished run; continue it with --resume, or delete the folder",
           folder_.string());
    }
  } else if (resume) {
    fail("{} does not exist: there is no run to resume", folder_.string());
  }
}

void LatentLog::begin() {
  begun_ = true;
  // Delete from the last to the first. If this is interrupted, the remaining files begin at 0, and
  // the next run deletes them instead of mistaking them for its own.
  int64_t count = 0;
  while (fs::exists(file(count))) ++count;
  while (count > 0) fs::remove(file(--count));
  fs::create_directories(folder_);
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
  return io::SafetensorsFile::open(file(index)).tensor(kTensor).clone();
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
