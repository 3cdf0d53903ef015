// SPDX-License-Identifier: Apache-2.0
// Videos of a data folder: those of jobs and those recorded on walks.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "loci/serve/storage/world_store.h"

namespace loci::serve {

// A video that is being made here. Its folder holds video.json, content.mp4 and thumbnail.jpg, and
// while it is made for a job also job.msgpack, from which another server can make it.
class VideoFolder {
 public:
  VideoFolder(std::filesystem::path path, FileLock lock, Json record);

  std::string id() const { return path_.filename().string(); }
  std::filesystem::path content() const { return path_ / "content.mp4"; }
  const Json& record() const { return record_; }
  // Merges `changes` into the record. A job that is completed or has failed is forgotten.
  void update(const Json& changes);
  Json job() const;
  void set_job(const Json& job) const;
  void set_thumbnail(const std::string& jpeg) const;
  // Deleted meanwhile: nobody wants it any more.
  bool gone() const;

 private:
  std::filesystem::path path_;
  FileLock lock_;
  Json record_;
};

// Safe in any thread.
class VideoStore {
 public:
  VideoStore(const std::filesystem::path& data, const Limits& limits, DiskBudget& disk);

  // `facts`: model, size, seconds, prompt. `job`, if any, is what it takes to make it again.
  std::unique_ptr<VideoFolder> create(const Json& facts, const Json& job = {});
  // Jobs whose server is gone, oldest first: they are the caller's now.
  std::vector<std::unique_ptr<VideoFolder>> orphans() const;

  struct Page {
    int64_t limit = 20;
    std::string after;
    bool ascending = false;
  };
  Json list(const Page& page) const;
  Json get(const std::string& id) const;
  // Refused ("not_found") until the video is complete.
  std::filesystem::path content(const std::string& id) const;
  std::string thumbnail(const std::string& id) const;
  void remove(const std::string& id);

  // Deletes what has expired, and tells of recordings whose server is gone that they failed.
  void sweep();

 private:
  Shelf shelf_;
  Limits limits_;
  DiskBudget& disk_;
};

}  // namespace loci::serve
