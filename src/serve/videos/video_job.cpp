// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/videos/video_job.h"

#include <cmath>

#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/camera/lens.h"
#include "loci/camera/path/keys.h"
#include "loci/camera/path/presets.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/protocol/http_bodies.h"
#include "loci/serve/protocol/ids.h"
#include "loci/serve/videos/recorder.h"
#include "loci/serve/walk/uploaded_picture.h"

namespace loci::serve {

namespace {

constexpr uint64_t kJobRoom = uint64_t{16} << 20;  // bytes that must be free before a job starts
constexpr int64_t kMostAttempts = 3;

// Poses of the video's frames; the first one is the identity.
std::vector<camera::Pose> frame_path(const std::string& action, double seconds,
                                     const WorldFacts& facts) {
  for (const camera::Preset& preset : camera::presets()) {
    if (preset.name != action) continue;
    camera::PresetOptions options;
    options.seconds = seconds;
    options.fps = facts.fps;
    options.fov_x = camera::radians(facts.fov);
    return camera::poses_of(camera::make_preset(action, options).cameras);
  }
  return checked("bad_request", [&] {
    return camera::key_path(camera::parse_key_string(action, facts.fps), {}, facts.fps);
  });
}

}  // namespace

VideoJob::VideoJob(Services& services, const Json& fields, int64_t world_chunks)
    : services_(services) {
  CreateVideo body = parse<CreateVideo>(fields, services.limits);
  if (body.input_reference) body.settings.first_frame = std::move(body.input_reference);
  request_ = WorldRequest::resolve(body.world, body.settings, services.models, services.limits);
  if (request_.tour_seconds > 0)
    refuse("bad_request", "tour_seconds: not supported for videos; omit it");
  request_.check_start(services.starts);
  if (request_.world.empty()) {
    if (request_.views.size() != 1)
      refuse("bad_request", "second: not supported for videos; omit it");
    facts_ = request_.facts();
    if (request_.prompt) facts_.prompt = *request_.prompt;
  } else {
    world_ = services.worlds.look(request_.world, world_chunks);
    if (world_->chunks() == 0) refuse("bad_world", "this world has no frames");
    facts_ = world_->facts();
  }
  plan_path(body);
  ++services_.metrics.videos_waiting;
}

VideoJob::~VideoJob() {
  --services_.metrics.videos_waiting;
  if (done_ || view_ == nullptr || folder_->gone()) return;
  try {
    // A regular stop of the server does not count as a failed attempt.
    Json job = folder_->job();
    job["attempts"] = 0;
    folder_->set_job(job);
    folder_->update({{"status", "queued"}, {"progress", 0}});
  } catch (const std::exception& error) {
    log_warning("cannot queue an interrupted video again: {}", error.what());
  }
}

std::shared_ptr<VideoJob> VideoJob::create(Services& services, const Json& body) {
  Json fields = body;
  if (services.metrics.videos_waiting.load() >= services.limits.queued_videos) {
    refuse("limit", "{} videos are queued, the maximum; try again later",
           services.limits.queued_videos);
  }
  services.disk.check(kJobRoom);
  std::shared_ptr<VideoJob> job(new VideoJob(services, fields, INT64_MAX));
  // The job decodes the picture when it starts, which may be much later.
  if (!job->request_.picture.empty()) {
    check_picture(job->request_.picture, services.limits.upload_pixels);
  }
  const WorldFacts& facts = job->facts_;
  const double seconds = static_cast<double>(job->path_.size()) *
                         static_cast<double>(facts.frames_per_latent) / facts.fps;
  fields["model"] = facts.views.front().model;  // another server may have another default
  VideoInfo video;
  video.model = facts.views.front().model;
  video.size = fmt::format("{}x{}", facts.width / 2 * 2, facts.height / 2 * 2);
  video.seconds = fmt::format("{:.6g}", seconds);
  video.prompt = facts.prompt;
  job->folder_ = services.videos.create(
      std::move(video), {{"fields", std::move(fields)},
                         {"world_chunks", job->world_ == nullptr ? 0 : job->world_->chunks()},
                         {"attempts", 0}});
  return job;
}

void VideoJob::adopt_orphans(Services& services) {
  for (std::unique_ptr<VideoFolder>& folder : services.videos.orphans()) {
    try {
      const Json job = folder->job();
      if (job.value("attempts", int64_t{0}) >= kMostAttempts) {
        refuse("interrupted", "the server ended {} times while it generated this video",
               kMostAttempts);
      }
      std::shared_ptr<VideoJob> again(new VideoJob(services, job.value("fields", Json::object()),
                                                   job.value("world_chunks", int64_t{0})));
      folder->update({{"status", "queued"}, {"progress", 0}, {"frames", 0}});
      again->folder_ = std::move(folder);
      services.engine.add(again);
    } catch (...) {
      const ErrorReply reply = reply_to_exception("restarting a video job");
      folder->update(
          {{"status", "failed"}, {"error", {{"code", reply.code}, {"message", reply.message}}}});
    }
  }
}

void VideoJob::plan_path(const CreateVideo& body) {
  double seconds = body.seconds;
  if (body.num_frames) {
    const auto most = static_cast<int64_t>(services_.limits.video_seconds * facts_.fps);
    if (*body.num_frames > most) {
      refuse("bad_request", "num_frames: expected an integer from 1 to {}, got {}", most,
             *body.num_frames);
    }
    seconds = static_cast<double>(*body.num_frames) / facts_.fps;
  }
  const camera::TimeGrid grid = facts_.time_grid();
  const double chunk = static_cast<double>(grid.frames_per_chunk()) / facts_.fps;
  const auto chunks = static_cast<int64_t>(std::max(1.0, std::ceil(seconds / chunk - 1e-6)));
  const std::vector<camera::Pose> all = frame_path(body.action, seconds, facts_);
  for (int64_t latent = 1; latent < grid.latents_in_chunks(1 + chunks); ++latent) {
    // The last pose is repeated up to a whole chunk.
    path_.push_back(all[std::min(static_cast<size_t>(grid.camera_frame(latent)), all.size() - 1)]);
  }
}

void VideoJob::fail_with(const std::string& code, const std::string& message) {
  folder_->update({{"status", "failed"}, {"error", {{"code", code}, {"message", message}}}});
  done_ = true;
}

void VideoJob::run_slice(std::chrono::duration<double>) {
  if (folder_->gone()) {  // canceled
    done_ = true;
    return;
  }
  try {
    if (view_ == nullptr) {
      Json job = folder_->job();
      job["attempts"] = job.value("attempts", int64_t{0}) + 1;
      folder_->set_job(job);
      folder_->update({{"status", "in_progress"}});
      begin();
    } else if (world_ != nullptr) {
      begin_from_world();
    } else if (next_ < path_.size()) {
      make_chunk();
    } else {
      finish();
    }
  } catch (const Interrupted&) {
    throw;
  } catch (...) {
    const ErrorReply reply = reply_to_exception("a video job");
    if (reply.code == "internal") ++services_.metrics.errors;
    writer_.reset();
    fail_with(reply.code, reply.message);
  }
}

void VideoJob::begin() {
  io::VideoOptions options;
  options.fps = facts_.fps;
  writer_ = std::make_unique<io::VideoWriter>(folder_->content(), facts_.width / 2 * 2,
                                              facts_.height / 2 * 2, options);
  if (world_ != nullptr) {
    const WorldFacts::View& first = facts_.views.front();
    view_ = std::make_unique<View>(
        View::open(services_.models.maker(first.model, first.weights), *world_, 0));
    read_ = view_->next_chunk();
    from_ = world_->read(world_->chunks() - 1).cameras.back().pose;
    return;
  }
  const StartPicture start = request_.first_frame(services_.starts, services_.limits);
  facts_.prompt = start.prompt;
  view_ = std::make_unique<View>(*request_.views.front().model, facts_,
                                 request_.views.front().settings, start.prompt, request_.negative);
  add_frames(view_->start(start.image, lens_of(facts_)).frames);
  folder_->update({{"prompt", facts_.prompt}});
}

void VideoJob::begin_from_world() {
  if (read_ < world_->chunks()) {
    view_->replay(world_->read(read_), 0);
    ++read_;
  }
  if (read_ == world_->chunks()) world_.reset();
}

void VideoJob::make_chunk() {
  const auto size =
      static_cast<size_t>(facts_.time_grid().latents_of_chunk(view_->next_chunk()).size());
  std::vector<camera::Pose> poses;
  for (size_t i = next_; i < next_ + size; ++i) {
    poses.push_back(from_ * path_[std::min(i, path_.size() - 1)]);
  }
  add_frames(view_->push(camera::with_lens(poses, lens_of(facts_))).frames);
  next_ = std::min(next_ + size, path_.size());
  // 100 means that the file is complete.
  folder_->update(
      {{"progress", std::min<size_t>(99, 100 * next_ / path_.size())}, {"frames", frames_}});
  ++services_.metrics.chunks_generated;
}

void VideoJob::add_frames(const at::Tensor& frames) {
  const at::Tensor shown = even_frames(frames);
  for (int64_t i = 0; i < shown.size(0); ++i) {
    if (frames_ == 0) folder_->set_thumbnail(thumbnail_of(shown[i]));
    writer_->add(shown[i]);
    ++frames_;
  }
  services_.metrics.frames_generated += static_cast<uint64_t>(shown.size(0));
}

void VideoJob::finish() {
  writer_->finish();
  folder_->update({{"status", "completed"},
                   {"progress", 100},
                   {"frames", frames_},
                   {"completed_at", unix_time()}});
  done_ = true;
}

}  // namespace loci::serve
