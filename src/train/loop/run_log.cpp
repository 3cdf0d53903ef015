// SPDX-License-Identifier: Apache-2.0
#include "loci/train/loop/run_log.h"

#include <fstream>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/output_path.h"
#include "loci/io/media/image.h"

namespace loci::train {

RunLog::RunLog(std::filesystem::path folder) : folder_(std::move(folder)), events_(folder_) {}

void RunLog::metrics(int64_t update, Json values) {
  for (const auto& [name, value] : values.items()) {
    if (value.is_number()) events_.scalar(name, update, value.get<double>());
  }
  values["update"] = update;
  const std::filesystem::path path = folder_ / "metrics.jsonl";
  std::ofstream file(path, std::ios::app);
  file << values.dump() << '\n';
  file.flush();
  if (!file) fail_machine("cannot write {}: is the disk full?", path.string());
}

void RunLog::picture(const std::string& name, int64_t update, const at::Tensor& picture) {
  io::write_png(folder_ / fmt::format("{}-{:08}.png", name, update), picture);
  events_.image(name, update, picture);
}

void RunLog::flush() const {
  const std::filesystem::path path = folder_ / "metrics.jsonl";
  if (!std::filesystem::exists(path)) return;
  flush_to_disk(path);
  flush_to_disk(folder_);
}

void RunLog::truncate(int64_t updates_done) const {
  const std::filesystem::path path = folder_ / "metrics.jsonl";
  if (!std::filesystem::exists(path)) return;
  std::string kept;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const Json values = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    // A crash can leave an incomplete last line, which does not parse.
    if (values.is_object() && values.value("update", int64_t{0}) <= updates_done) {
      kept += line + "\n";
    }
  }
  write_file(path, kept);
}

}  // namespace loci::train
