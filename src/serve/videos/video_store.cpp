// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/videos/video_store.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/log.h"
#include "loci/base/output_path.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/protocol/ids.h"

namespace loci::serve {

namespace fs = std::filesystem;

namespace {

Json read_record(const fs::path& folder) { return load_json(folder / "video.json"); }

void write_record(const fs::path& folder, const Json& record) {
  write_file(folder / "video.json", record.dump(1));
}

fs::path job_file(const fs::path& folder) { return folder / "job.msgpack"; }

// Orders videos by the time of their creation. Videos of the same microsecond are ordered by id, so
// that every listing has the same order.
std::tuple<int64_t, int64_t, std::string> age_key(const Json& record) {
  return {record.value("created_at", int64_t{0}), record.value("created_us", int64_t{0}),
          record.value("id", "")};
}

bool running(const Json& record) {
  return record.value("status", "") == "queued" || record.value("status", "") == "in_progress";
}

}  // namespace

VideoFolder::VideoFolder(fs::path path, FileLock lock, Json record)
    : path_(std::move(path)), lock_(std::move(lock)), record_(std::move(record)) {}

void VideoFolder::update(const Json& changes) {
  record_.update(changes);
  if (gone()) return;
  write_record(path_, record_);
  if (!running(record_)) fs::remove(job_file(path_));
}

Json VideoFolder::job() const {
  const std::string bytes = read_file(job_file(path_));
  Json job = Json::from_msgpack(bytes, /*strict=*/true, /*allow_exceptions=*/false);
  if (!job.is_object())
    fail("{} is not a job: expected one MessagePack map", job_file(path_).string());
  return job;
}

void VideoFolder::set_job(const Json& job) const {
  const std::vector<uint8_t> bytes = Json::to_msgpack(job);
  write_file(job_file(path_), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void VideoFolder::set_thumbnail(const std::string& jpeg) const {
  if (!gone()) write_file(path_ / "thumbnail.jpg", jpeg);
}

bool VideoFolder::gone() const { return !file_exists(path_); }

VideoStore::VideoStore(const fs::path& data, const Limits& limits, DiskBudget& disk)
    : shelf_(data / "videos", "video", "video.json"), limits_(limits), disk_(disk) {}

std::unique_ptr<VideoFolder> VideoStore::create(VideoInfo video, const Json& job) {
  disk_.check(0);
  video.id = new_id("video");
  video.created_us = unix_microseconds();
  video.created_at = *video.created_us / 1'000'000;
  video.expires_at = video.created_at + static_cast<int64_t>(limits_.keep_hours * 3600);
  Json record = to_wire(video);
  const fs::path path = shelf_.place(video.id);
  AtomicDirectory folder(path);
  write_record(folder.temporary(), record);
  write_file(folder.temporary() / "lock", "");
  FileLock lock = FileLock::try_lock(folder.temporary() / "lock");
  if (!job.is_null()) VideoFolder(folder.temporary(), FileLock(), {}).set_job(job);
  folder.commit();
  return std::make_unique<VideoFolder>(path, std::move(lock), std::move(record));
}

std::vector<std::unique_ptr<VideoFolder>> VideoStore::orphans() const {
  std::vector<std::unique_ptr<VideoFolder>> found;
  for (const fs::path& folder : shelf_.all()) {
    try {
      if (!file_exists(job_file(folder))) continue;
      FileLock lock = FileLock::try_lock(folder / "lock");
      if (!lock) continue;
      Json record = read_record(folder);
      if (!running(record)) continue;
      // The job starts again from the beginning.
      for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name.find(".mp4") != std::string::npos) fs::remove(entry.path());
      }
      found.push_back(std::make_unique<VideoFolder>(folder, std::move(lock), std::move(record)));
    } catch (const std::exception& problem) {
      log_warning("looking for interrupted video jobs: {}", problem.what());
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return age_key(a->record()) < age_key(b->record());
  });
  return found;
}

Json VideoStore::list(const VideoQuery& query) const {
  std::vector<Json> found;
  for (const fs::path& folder : shelf_.all()) {
    try {
      found.push_back(read_record(folder));
    } catch (const Error& problem) {
      log_debug("listing videos: {}", problem.what());  // deleted meanwhile
    }
  }
  std::sort(found.begin(), found.end(), [&](const Json& a, const Json& b) {
    return query.order == "asc" ? age_key(a) < age_key(b) : age_key(a) > age_key(b);
  });
  if (!query.after.empty()) {
    const auto last = std::find_if(found.begin(), found.end(), [&](const Json& record) {
      return record.value("id", "") == query.after;
    });
    if (last == found.end()) refuse("not_found", "after: there is no such video");
    found.erase(found.begin(), last + 1);
  }
  const bool more = static_cast<int64_t>(found.size()) > query.limit;
  if (more) found.resize(static_cast<size_t>(query.limit));
  return {{"object", "list"},
          {"data", found},
          {"has_more", more},
          {"first_id", found.empty() ? Json() : found.front()["id"]},
          {"last_id", found.empty() ? Json() : found.back()["id"]}};
}

Json VideoStore::get(const std::string& id) const { return read_record(shelf_.find(id)); }

fs::path VideoStore::content(const std::string& id) const {
  fs::path file = shelf_.find(id) / "content.mp4";
  if (!file_exists(file)) refuse("not_found", "this video is not complete yet");
  return file;
}

std::string VideoStore::thumbnail(const std::string& id) const {
  const fs::path file = shelf_.find(id) / "thumbnail.jpg";
  if (!file_exists(file)) refuse("not_found", "this video has no thumbnail yet");
  return read_file(file, uint64_t{1} << 22);
}

void VideoStore::remove(const std::string& id) {
  remove_folder(shelf_.find(id));
  disk_.recount();
}

void VideoStore::sweep() {
  for (const fs::path& folder : shelf_.all()) {
    try {
      const FileLock lock = FileLock::try_lock(folder / "lock");
      if (!lock) continue;
      Json record = read_record(folder);
      if (running(record) && !file_exists(job_file(folder))) {
        record["status"] = "failed";
        record["error"] = {{"code", "interrupted"}, {"message", "the server was stopped"}};
        write_record(folder, record);
      }
      if (record.value("expires_at", INT64_MAX) < unix_time()) remove_folder(folder);
    } catch (const std::exception& problem) {
      log_warning("sweeping videos: {}", problem.what());
    }
  }
  disk_.recount();
}

}  // namespace loci::serve
