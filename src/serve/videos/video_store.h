// SPDX-License-Identifier: Apache-2.0
// The videos of a data folder: results of jobs and recordings of walks.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "loci/serve/protocol/http_bodies.h"
#include "loci/serve/storage/world_store.h"

namespace loci::serve {

// The folder of a video that this process writes: video.json, content.mp4 and thumbnail.jpg. A job
// that is not complete also has job.msgpack, from which another server can start it again.
class VideoFolder {
 public:
  VideoFolder(std::filesystem::path path, FileLock lock, Json record);

  std::string id() const { return path_.filename().string(); }
  std::filesystem::path content() const { return path_ / "content.mp4"; }
  const Json& record() const { return record_; }
  // Merges `changes` into video.json. Deletes job.msgpack once the job is completed or failed.
  void update(const Json& changes);
  Json job() const;
  void set_job(const Json& job) const;
  void set_thumbnail(const std::string& jpeg) const;
  // Whether the folder was deleted, which cancels the job.
  bool gone() const;

 private:
  std::filesystem::path path_;
  FileLock lock_;
  Json record_;
};

// Any thread may call every function.
class VideoStore {
 public:
  VideoStore(const std::filesystem::path& data, const Limits& limits, DiskBudget& disk);

  // Creates and locks a video's folder, and sets the id and the times of `video`. `job`: the
  // content of job.msgpack, null for a recording.
  std::unique_ptr<VideoFolder> create(VideoInfo video, const Json& job = {});
  // Locks and returns the jobs whose server has ended, oldest first. The caller must run them.
  std::vector<std::unique_ptr<VideoFolder>> orphans() const;

  Json list(const VideoQuery& query) const;
  Json get(const std::string& id) const;
  // Path of the MP4 file. Refused ("not_found") until the video is complete.
  std::filesystem::path content(const std::string& id) const;
  std::string thumbnail(const std::string& id) const;
  void remove(const std::string& id);

  // Deletes expired videos, and marks recordings whose server has ended as failed.
  void sweep();

 private:
  Shelf shelf_;
  Limits limits_;
  DiskBudget& disk_;
};

}  // namespace loci::serve
