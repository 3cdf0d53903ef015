// SPDX-License-Identifier: Apache-2.0
// A video made without anybody watching: a world, a path, a file. Takes its turns like a walk.
#pragma once

#include <memory>
#include <vector>

#include "loci/io/media/video.h"
#include "loci/serve/walk/engine.h"
#include "loci/serve/walk/services.h"
#include "loci/serve/videos/video_store.h"
#include "loci/serve/walk/view.h"
#include "loci/serve/walk/world_request.h"

namespace loci::serve {

class VideoJob : public Task {
 public:
  // The body of `POST /v1/videos`, checked; what is wrong is refused. Any thread.
  static std::shared_ptr<VideoJob> create(Services& services, const Json& body);
  // Begins the jobs anew whose server is gone. One that was in work at several ends of servers
  // is not tried again: it may have caused them. Any thread.
  static void adopt_orphans(Services& services);
  ~VideoJob() override;

  const Json& record() const { return folder_->record(); }

  std::optional<Clock::time_point> due() override { return Clock::time_point(); }
  void turn(std::chrono::duration<double> waited) override;
  bool finished() override { return done_; }

 private:
  VideoJob(Services& services, const Json& fields, int64_t world_chunks);
  void plan_path(const Json& body);
  void begin();
  void begin_from_world();
  void make_chunk();
  void add_frames(const at::Tensor& frames);
  void finish();
  void fail_with(const std::string& code, const std::string& message);

  Services& services_;
  WorldRequest request_;
  WorldFacts facts_;
  std::unique_ptr<WorldFolder> world_;  // while it is read back; others may walk it
  int64_t read_ = 0;                    // chunks of it
  std::vector<camera::Pose> path_;      // whole chunks, relative to the start
  size_t next_ = 0;                     // pose
  camera::Pose from_;
  std::unique_ptr<VideoFolder> folder_;
  std::unique_ptr<View> view_;
  std::unique_ptr<io::VideoWriter> writer_;
  int64_t frames_ = 0;
  bool done_ = false;
};

}  // namespace loci::serve
