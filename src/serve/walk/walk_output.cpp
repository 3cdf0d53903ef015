// SPDX-License-Identifier: Apache-2.0
// What a walk sends.
#include <algorithm>
#include <set>

#include <ATen/ATen.h>

#include "loci/base/machine.h"
#include "loci/camera/lens.h"
#include "loci/io/media/image.h"
#include "loci/serve/protocol/message.h"
#include "loci/serve/protocol/poses.h"
#include "loci/serve/protocol/protocol.h"
#include "loci/serve/walk/walk.h"

namespace loci::serve {

namespace {

std::string raw_of(const at::Tensor& frame) {
  const at::Tensor dense = frame.contiguous();
  return {static_cast<const char*>(dense.const_data_ptr()), static_cast<size_t>(dense.nbytes())};
}

// A `frame_batch` message but for its payload.
struct FrameBatch {
  size_t view = 0;
  int64_t chunk = 0, first = 0, frames = 1;  // `first` counts since the start of the world
  int64_t place = 0, of = 1;                 // in the chunk
  int64_t width = 0, height = 0;
  bool raw = false;
  Json event;

  Json message(Json lengths, const std::string& payload) const {
    return {{"type", "frame_batch"},
            {"view", view},
            {"chunk_index", chunk},
            {"num_frames", frames},
            {"frame_index", first},
            {"frame_batch_index", place},
            {"num_frame_batches", of},
            {"is_final_frame_batch", place + 1 == of},
            {"content_type", raw ? "application/octet-stream" : "image/jpeg"},
            {"encoding", raw ? "raw" : "jpeg"},
            {"width", width},
            {"height", height},
            {"channels", 3},
            {"payload_lengths", std::move(lengths)},
            {"payload", binary(payload)},
            {"event_id", event}};
  }
};

}  // namespace

void Walk::send_state(const std::string& state, const std::string& reason, double progress) {
  const std::shared_ptr<Client> client = this->client();
  if (client == nullptr) return;
  Json message = {
      {"type", "state"}, {"state", state}, {"queue_length", services_.engine.waiting()}};
  if (!reason.empty()) message["reason"] = reason;
  if (progress >= 0) message["progress"] = progress;
  if (phase_ == Phase::kReady) {
    Json views = Json::array();
    for (const View& view : views_) views.push_back(view.describe());
    message["views"] = std::move(views);
  }
  client->send(message);
}

void Walk::send_phase() {
  if (paused_) return send_state("paused", pause_reason_);
  if (tour_) return send_state("running", "tour", tour_->progress());
  send_state("running", "");
}

void Walk::send_session(Client& client, bool resumed) {
  const WorldFacts& facts = folder_->facts();
  const Limits& limits = services_.limits;
  camera::KeySpeeds speeds;
  {
    const std::lock_guard lock(mutex_);
    speeds = controls_->speeds();
  }
  Json views = Json::array();
  for (const View& view : views_) views.push_back(view.describe());
  const int64_t latents = first_latent(folder_->chunks());
  const std::vector<camera::Pose> path(path_.begin(), path_.end());
  client.send({{"type", "session"},
               {"protocol", kProtocol},
               {"world", facts.id},
               {"name", facts.name},
               {"resumed", resumed},
               {"next_chunk", folder_->chunks()},
               {"latents", latents},
               {"pose", to_json(path.back())},
               {"prompt", prompt_},
               {"seed", std::to_string(facts.seed)},
               {"size", {facts.width, facts.height}},
               {"fps", facts.fps},
               {"chunk_latents", facts.chunk_latents},
               {"frames_per_latent", facts.frames_per_latent},
               {"fov", facts.fov},
               {"camera",
                {{"move", speeds.move},
                 {"turn", camera::degrees(speeds.turn)},
                 {"pitch_limit", camera::degrees(speeds.pitch_limit)}}},
               {"views", std::move(views)},
               {"path", to_json(path)},
               {"path_first", latents - static_cast<int64_t>(path.size())},
               {"recording", recorder_.has_value()},
               {"limits",
                {{"message_bytes", limits.message_bytes},
                 {"sessions", limits.sessions},
                 {"idle_seconds", limits.pause_seconds}}}});
}

size_t Walk::send_frames(Client& client, size_t view, const at::Tensor& frames, int64_t chunk,
                         Clock::time_point first) {
  const OutputOptions& output = client.output();
  const int64_t count = frames.size(0);
  const int64_t per_batch = output.paced ? 1 : count;
  const int64_t batches = (count + per_batch - 1) / per_batch;
  const int64_t before =
      chunk == 0 ? 0 : 1 + (first_latent(chunk) - 1) * folder_->facts().frames_per_latent;
  size_t total = 0;
  for (int64_t batch = 0; batch < batches; ++batch) {
    std::string payload;
    Json lengths = Json::array();
    const int64_t end = std::min(count, (batch + 1) * per_batch);
    for (int64_t i = batch * per_batch; i < end; ++i) {
      const std::string bytes = output.raw ? raw_of(frames[i]) : jpeg_of(frames[i], output.quality);
      lengths.push_back(bytes.size());
      payload += bytes;
    }
    total += payload.size();
    const Clock::time_point at =
        output.paced ? first + pace_.frame_time(batch) : Clock::time_point();
    const FrameBatch told{.view = view,
                          .chunk = chunk,
                          .first = before + batch * per_batch,
                          .frames = end - batch * per_batch,
                          .place = batch,
                          .of = batches,
                          .width = frames.size(2),
                          .height = frames.size(1),
                          .raw = output.raw,
                          .event = last_event_};
    client.send_frames(told.message(std::move(lengths), payload), told.frames, at);
  }
  return total;
}

void Walk::send_still(Client& client, size_t view, const std::string& jpeg, int64_t chunk) {
  at::Tensor frame;
  const WorldFacts& facts = folder_->facts();
  std::string payload = jpeg;
  const bool raw = client.output().raw;
  if (raw) {
    frame = io::decode_image(std::as_bytes(std::span(jpeg.data(), jpeg.size())), "a record");
    payload = raw_of(frame);
  }
  const int64_t latents = first_latent(chunk + 1);
  const FrameBatch told{.view = view,
                        .chunk = chunk,
                        .first = (latents - 1) * facts.frames_per_latent,
                        .width = facts.width,
                        .height = facts.height,
                        .raw = raw,
                        .event = nullptr};
  client.send_frames(told.message(Json::array({payload.size()}), payload), 1, Clock::time_point());
}

void Walk::send_thumbnails(Client& client, size_t view, int64_t first,
                           const std::vector<std::string>& jpegs) {
  Json frames = Json::array();
  for (size_t i = 0; i < jpegs.size(); ++i) {
    frames.push_back({{"frame", first + static_cast<int64_t>(i)}, {"jpeg", binary(jpegs[i])}});
  }
  client.send({{"type", "thumbnails"}, {"view", view}, {"frames", std::move(frames)}});
}

void Walk::send_retained_thumbnails(Client& client, size_t view, const Json& memory) {
  const int64_t per_chunk = folder_->facts().chunk_latents;
  Json list = Json::array();
  std::optional<ChunkRecord> record;
  for (const Json& retained : memory["retained"]) {
    const auto frame = retained["frame"].get<int64_t>();
    const int64_t chunk = frame == 0 ? 0 : 1 + (frame - 1) / per_chunk;
    if (!record || record->index != chunk) record = folder_->read(chunk);
    const std::vector<std::string>& thumbnails = record->views[view].thumbnails;
    const auto place = static_cast<size_t>(frame - first_latent(chunk));
    if (place >= thumbnails.size()) continue;
    list.push_back({{"frame", frame}, {"jpeg", binary(thumbnails[place])}});
  }
  client.send({{"type", "thumbnails"}, {"view", view}, {"frames", std::move(list)}});
}

void Walk::send_memory(Client& client, size_t view, const ChunkRecord& newest) {
  Json memory = views_[view].memory_stats(seen_[view]);
  send_retained_thumbnails(client, view, memory);
  send_stats(client, view, newest, nullptr, {}, 0, std::move(memory));
}

void Walk::send_stats(Client& client, size_t view, const ChunkRecord& record, const Times* times,
                      const Json& latency, size_t payload_bytes, Json memory) {
  const WorldFacts& facts = folder_->facts();
  const auto latents = static_cast<int64_t>(record.poses.size());
  Json stats = {{"type", "chunk_stats"},
                {"view", view},
                {"chunk_index", record.index},
                {"first_latent", first_latent(record.index)},
                {"num_frames", record.index == 0 ? 1 : latents * facts.frames_per_latent},
                {"poses", to_json(record.poses)},
                {"event_id", last_event_},
                {"queue_length", services_.engine.waiting()},
                {"dropped_frames", client.outbox().dropped_frames()},
                {"process_bytes", process_memory().value_or(ProcessMemory()).now},
                {"given", record.given},
                {"replayed", times == nullptr}};
  if (times != nullptr) {
    stats.update(Json{{"scheduler_forward_ms", times->forward},
                      {"commit_ms", times->commit},
                      {"encode_ms", times->encode},
                      {"store_ms", times->store},
                      {"chunk_total_ms", times->total},
                      {"interval_ms", times->interval},
                      {"queue_ms", times->queue},
                      {"control_latency_ms", latency},
                      {"frame_ms", client.output().paced ? pace_.frame_seconds() * 1e3 : 0},
                      {"ws_payload_bytes", payload_bytes}});
  }
  stats.update(memory);
  client.send(stats);
}

}  // namespace loci::serve
