// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/walk_output.h"

#include <algorithm>
#include <span>
#include <utility>

#include <ATen/ATen.h>

#include "loci/base/machine.h"
#include "loci/camera/lens.h"
#include "loci/io/media/image.h"
#include "loci/serve/protocol/message.h"
#include "loci/serve/protocol/poses.h"
#include "loci/serve/protocol/protocol.h"

namespace loci::serve {

namespace {

std::string raw_of(const at::Tensor& frame) {
  const at::Tensor dense = frame.contiguous();
  return {static_cast<const char*>(dense.const_data_ptr()), static_cast<size_t>(dense.nbytes())};
}

double milliseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
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

// The frames of one view's chunk, encoded and sent in batches.
struct FrameSender {
  size_t view = 0;
  int64_t chunk = 0, first_frame = 0;
  Clock::time_point first;
  Pace pace;
  Json event;

  // The encoder's thread. Returns the bytes of the payloads.
  size_t send(Client& client, const at::Tensor& frames) const {
    const OutputOptions& output = client.output();
    const int64_t count = frames.size(0);
    const int64_t per_batch = output.paced ? 1 : count;
    const int64_t batches = (count + per_batch - 1) / per_batch;
    size_t total = 0;
    for (int64_t batch = 0; batch < batches; ++batch) {
      std::string payload;
      Json lengths = Json::array();
      const int64_t end = std::min(count, (batch + 1) * per_batch);
      for (int64_t i = batch * per_batch; i < end; ++i) {
        const std::string bytes =
            output.raw ? raw_of(frames[i]) : jpeg_of(frames[i], output.quality);
        lengths.push_back(bytes.size());
        payload += bytes;
      }
      total += payload.size();
      const Clock::time_point at =
          output.paced ? first + pace.frame_time(batch) : Clock::time_point();
      const FrameBatch told{.view = view,
                            .chunk = chunk,
                            .first = first_frame + batch * per_batch,
                            .frames = end - batch * per_batch,
                            .place = batch,
                            .of = batches,
                            .width = frames.size(2),
                            .height = frames.size(1),
                            .raw = output.raw,
                            .event = event};
      client.send_frames(told.message(std::move(lengths), payload), told.frames, at);
    }
    return total;
  }
};

}  // namespace

WalkOutput::WalkOutput(Services& services, std::shared_ptr<Mailbox> mailbox)
    : services_(services), mailbox_(std::move(mailbox)) {}

void WalkOutput::submit(const ClientPtr& client, size_t bytes, Encoder::Job job) {
  if (client == nullptr) return;
  services_.encoder.submit(
      bytes, [&services = services_, mailbox = mailbox_, client, job = std::move(job)] {
        try {
          job();
        } catch (...) {
          const Told told = tell_exception("sending the output of a walk");
          if (told.code == "internal") ++services.metrics.errors;
          client->send_error(told.code, told.message, false);
          mailbox->report_failure(told);
          services.engine.wake();
        }
      });
}

void WalkOutput::send(const ClientPtr& client, Json message) {
  submit(client, 0, [client, message = std::move(message)] { client->send(message); });
}

void WalkOutput::send_error(const ClientPtr& client, const Told& told, bool fatal,
                            const Json& event_id, const Json& request_id) {
  submit(client, 0,
         [=] { client->send_error(told.code, told.message, fatal, event_id, request_id); });
}

void WalkOutput::drop_frames(const ClientPtr& client) {
  submit(client, 0, [client] { client->outbox().drop_frames(); });
}

void WalkOutput::close(const ClientPtr& client, int code, const std::string& reason) {
  submit(client, 0, [=] { client->close(code, reason); });
}

void WalkOutput::send_receipt(const ClientPtr& client, const Json& event_id,
                              const std::string& kind, int64_t chunk) {
  if (event_id.is_null()) return;
  last_event_ = event_id;
  send(client, {{"type", "receipt"},
                {"event_id", event_id},
                {"kind", kind},
                {"status", "applied"},
                {"chunk_index", chunk}});
}

void WalkOutput::send_state(const ClientPtr& client, const WalkState& state,
                            const WalkMemory& memory, const std::string& name,
                            const std::string& reason, double progress) {
  Json message = {{"type", "state"}, {"state", name}, {"queue_length", services_.engine.waiting()}};
  if (!reason.empty()) message["reason"] = reason;
  if (progress >= 0) message["progress"] = progress;
  if (state.ready()) {
    Json views = Json::array();
    for (const View& view : memory.views()) views.push_back(view.describe());
    message["views"] = std::move(views);
  }
  send(client, std::move(message));
}

void WalkOutput::send_phase(const ClientPtr& client, const WalkState& state,
                            const WalkMemory& memory) {
  if (state.paused()) return send_state(client, state, memory, "paused", state.pause_reason());
  if (memory.tour() != nullptr) {
    return send_state(client, state, memory, "running", "tour", memory.tour()->progress());
  }
  send_state(client, state, memory, "running", "");
}

void WalkOutput::send_session(const ClientPtr& client, const WalkMemory& memory, bool resumed,
                              bool recording) {
  const WorldFacts& facts = memory.facts();
  const Limits& limits = services_.limits;
  const camera::KeySpeeds speeds = mailbox_->speeds();
  Json views = Json::array();
  for (const View& view : memory.views()) views.push_back(view.describe());
  const int64_t latents = memory.first_latent(memory.folder().chunks());
  const std::vector<camera::Pose> path(memory.path().begin(), memory.path().end());
  send(client, {{"type", "session"},
                {"protocol", kProtocol},
                {"world", facts.id},
                {"name", facts.name},
                {"resumed", resumed},
                {"next_chunk", memory.folder().chunks()},
                {"latents", latents},
                {"pose", to_json(path.back())},
                {"prompt", memory.prompt()},
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
                {"recording", recording},
                {"limits",
                 {{"message_bytes", limits.message_bytes},
                  {"sessions", limits.sessions},
                  {"idle_seconds", limits.pause_seconds}}}});
}

void WalkOutput::send_still(const ClientPtr& client, const WalkMemory& memory, size_t view,
                            const ChunkRecord& newest) {
  const WorldFacts& facts = memory.facts();
  const FrameBatch told{.view = view,
                        .chunk = newest.index,
                        .first = facts.time_grid().frames_of_chunk(newest.index).end - 1,
                        .width = facts.width,
                        .height = facts.height,
                        .raw = client->output().raw,
                        .event = nullptr};
  submit(client, newest.views[view].newest.size(),
         [client, told, jpeg = newest.views[view].newest] {
           std::string payload = jpeg;
           if (told.raw) {
             payload = raw_of(
                 io::decode_image(std::as_bytes(std::span(jpeg.data(), jpeg.size())), "a record"));
           }
           client->send_frames(told.message(Json::array({payload.size()}), payload), 1,
                               Clock::time_point());
         });
}

void WalkOutput::send_thumbnails(const ClientPtr& client, size_t view, Json frames) {
  send(client, {{"type", "thumbnails"}, {"view", view}, {"frames", std::move(frames)}});
}

void WalkOutput::send_memory(const ClientPtr& client, WalkMemory& memory, size_t view,
                             const ChunkRecord& newest) {
  const Json told = memory.stats_of(view);
  send_thumbnails(client, view, memory.retained_thumbnails(view, told));
  Json stats = stats_of(memory, view, newest);
  stats["replayed"] = true;
  stats.update(told);
  submit(client, 0, [client, stats = std::move(stats)]() mutable {
    stats["dropped_frames"] = client->outbox().dropped_frames();
    client->send(stats);
  });
}

Json WalkOutput::stats_of(const WalkMemory& memory, size_t view, const ChunkRecord& record) const {
  return {{"type", "chunk_stats"},
          {"view", view},
          {"chunk_index", record.index},
          {"first_latent", memory.first_latent(record.index)},
          {"num_frames", memory.facts().time_grid().frames_of_chunk(record.index).size()},
          {"poses", to_json(camera::poses_of(record.cameras))},
          {"event_id", last_event_},
          {"queue_length", services_.engine.waiting()},
          {"process_bytes", process_memory().value_or(ProcessMemory()).now},
          {"given", record.given}};
}

std::shared_ptr<WalkOutput::Sent> WalkOutput::send_frames(
    const ClientPtr& client, const WalkMemory& memory, const Pace& pace, int64_t chunk,
    std::vector<at::Tensor> frames, Clock::time_point first,
    std::optional<Clock::time_point> oldest_control) {
  auto sent = std::make_shared<Sent>();
  sent->bytes.resize(frames.size());
  FrameSender sender{.chunk = chunk,
                     .first_frame = memory.facts().time_grid().frames_of_chunk(chunk).begin,
                     .first = first,
                     .pace = pace,
                     .event = last_event_};
  size_t bytes = 0;
  for (const at::Tensor& each : frames) bytes += each.nbytes();
  submit(client, bytes,
         [&metrics = services_.metrics, client, sent, sender = std::move(sender),
          frames = std::move(frames), oldest_control]() mutable {
           const Clock::time_point begun = Clock::now();
           for (size_t v = 0; v < frames.size(); ++v) {
             sender.view = v;
             sent->bytes[v] = sender.send(*client, frames[v]);
           }
           const Clock::time_point done = Clock::now();
           sent->encode_ms = milliseconds(begun, done);
           if (oldest_control) {
             sent->latency_ms = milliseconds(*oldest_control, std::max(sender.first, done));
             metrics.control_latency_seconds.observe(sent->latency_ms.get<double>() / 1e3);
           }
         });
  return sent;
}

void WalkOutput::send_chunk(const ClientPtr& client, WalkMemory& memory, const Pace& pace,
                            size_t view, const ChunkRecord& record, const Times& times,
                            std::shared_ptr<Sent> sent) {
  Json thumbnails = Json::array();
  int64_t latent = memory.first_latent(record.index);
  for (const std::string& jpeg : record.views[view].thumbnails) {
    thumbnails.push_back({{"frame", latent++}, {"jpeg", binary(jpeg)}});
  }
  send_thumbnails(client, view, std::move(thumbnails));
  Json stats = stats_of(memory, view, record);
  stats.update(Json{{"replayed", false},
                    {"scheduler_forward_ms", times.forward},
                    {"commit_ms", times.commit},
                    {"store_ms", times.store},
                    {"chunk_total_ms", times.total},
                    {"interval_ms", times.interval},
                    {"queue_ms", times.queue},
                    {"frame_ms", client->output().paced ? pace.frame_seconds() * 1e3 : 0}});
  stats.update(memory.stats_of(view));
  submit(client, 0, [client, view, stats = std::move(stats), sent = std::move(sent)]() mutable {
    stats["encode_ms"] = sent->encode_ms;
    stats["control_latency_ms"] = sent->latency_ms;
    stats["ws_payload_bytes"] = sent->bytes[view];
    stats["dropped_frames"] = client->outbox().dropped_frames();
    client->send(stats);
  });
}

}  // namespace loci::serve
