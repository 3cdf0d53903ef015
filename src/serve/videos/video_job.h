// SPDX-License-Identifier: Apache-2.0
// A video that is generated without a client: a world, a camera path, a file. The engine runs it in
// time slices like a walk.
#pragma once

#include <memory>
#include <vector>

#include "loci/io/media/video.h"
#include "loci/serve/engine/engine.h"
#include "loci/serve/engine/services.h"
#include "loci/serve/videos/video_store.h"
#include "loci/serve/walk/view.h"
#include "loci/serve/walk/world_request.h"

namespace loci::serve {

class VideoJob : public Task {
 public:
  // Any thread. Creates a job from the body of `POST /v1/videos`. Invalid bodies are refused.
  static std::shared_ptr<VideoJob> create(Services& services, const Json& body);
  // Any thread. Starts the jobs again whose server has ended. A job that was in progress when
  // several servers ended is marked as failed: it may have caused the crashes.
  static void adopt_orphans(Services& services);
  ~VideoJob() override;

  const Json& record() const { return folder_->record(); }

  std::optional<Clock::time_point> due() override { return Clock::time_point(); }
  void run_slice(std::chrono::duration<double> waited) override;
  bool finished() override { return done_; }

 private:
  VideoJob(Services& services, const Json& fields, int64_t world_chunks);
  void plan_path(const CreateVideo& body);
  void begin();
  void begin_from_world();
  void make_chunk();
  void add_frames(const at::Tensor& frames);
  void finish();
  void fail_with(const std::string& code, const std::string& message);

  Services& services_;
  WorldRequest request_;
  WorldFacts facts_;
  std::unique_ptr<WorldFolder> world_;  // to continue from; null once its records are replayed
  int64_t read_ = 0;                    // chunks of world_ that were replayed
  std::vector<camera::Pose> path_;      // whole chunks, relative to the start
  size_t next_ = 0;                     // index into path_
  camera::Pose from_;                   // where the path starts
  std::unique_ptr<VideoFolder> folder_;
  std::unique_ptr<View> view_;
  std::unique_ptr<io::VideoWriter> writer_;
  int64_t frames_ = 0;
  bool done_ = false;
};

}  // namespace loci::serve
