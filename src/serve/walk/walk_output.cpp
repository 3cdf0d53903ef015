// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/walk_output.h"

#include <algorithm>
#include <span>
#include <utility>

#include <ATen/ATen.h>

#include "loci/base/machine.h"
#include "loci/camera/lens.h"
#include "loci/io/media/image.h"

namespace loci::serve {

namespace {

std::string raw_of(const at::Tensor& frame) {
  const at::Tensor dense = frame.contiguous();
  return {static_cast<const char*>(dense.const_data_ptr()), static_cast<size_t>(dense.nbytes())};
}

// The frames of one view's chunk, encoded and sent in batches.
struct FrameSender {
  size_t view = 0;
  int64_t chunk = 0, first_frame = 0;
  Clock::time_point first;
  Pace pace;
  std::optional<int64_t> event;

  // The encoder's thread. Returns the bytes of the payloads.
  size_t send(Client& client, const at::Tensor& frames) const {
    const OutputOptions& output = client.output();
    const int64_t count = frames.size(0);
    const int64_t per_batch = output.paced() ? 1 : count;
    FrameBatchMessage message;
    message.view = static_cast<int64_t>(view);
    message.chunk_index = chunk;
    message.num_frame_batches = (count + per_batch - 1) / per_batch;
    message.width = frames.size(2);
    message.height = frames.size(1);
    message.event_id = event;
    message.set_raw(output.raw());
    size_t total = 0;
    for (int64_t batch = 0; batch < message.num_frame_batches; ++batch) {
      const int64_t end = std::min(count, (batch + 1) * per_batch);
      message.payload.data.clear();
      message.payload_lengths.clear();
      for (int64_t i = batch * per_batch; i < end; ++i) {
        const std::string bytes =
            output.raw() ? raw_of(frames[i]) : jpeg_of(frames[i], static_cast<int>(output.quality));
        message.payload_lengths.push_back(bytes.size());
        message.payload.data += bytes;
      }
      total += message.payload.data.size();
      message.frame_index = first_frame + batch * per_batch;
      message.num_frames = end - batch * per_batch;
      message.frame_batch_index = batch;
      message.is_final_frame_batch = batch + 1 == message.num_frame_batches;
      client.send_frames(to_wire(message), message.num_frames,
                         output.paced() ? first + pace.frame_time(batch) : Clock::time_point());
    }
    return total;
  }
};

std::vector<ViewInfo> describe(const std::vector<View>& views) {
  std::vector<ViewInfo> described;
  for (const View& view : views) described.push_back(view.describe());
  return described;
}

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
          const ErrorReply reply = reply_to_exception("sending the output of a walk");
          if (reply.code == "internal") ++services.metrics.errors;
          client->send_error(reply.code, reply.message, false);
          mailbox->report_failure(reply);
          services.engine.wake();
        }
      });
}

void WalkOutput::send(const ClientPtr& client, Json message) {
  submit(client, 0, [client, message = std::move(message)] { client->send(message); });
}

void WalkOutput::send_error(const ClientPtr& client, const ErrorReply& reply, bool fatal,
                            const Json& event_id, const Json& request_id) {
  submit(client, 0,
         [=] { client->send_error(reply.code, reply.message, fatal, event_id, request_id); });
}

void WalkOutput::drop_frames(const ClientPtr& client) {
  submit(client, 0, [client] { client->outbox().drop_frames(); });
}

void WalkOutput::close(const ClientPtr& client, int code, const std::string& reason) {
  submit(client, 0, [=] { client->close(code, reason); });
}

void WalkOutput::send_receipt(const ClientPtr& client, std::optional<int64_t> event_id,
                              const std::string& kind, int64_t chunk) {
  if (!event_id) return;
  last_event_ = event_id;
  send(client, to_wire(ReceiptMessage{*event_id, kind, "applied", chunk}));
}

void WalkOutput::send_state(const ClientPtr& client, const WalkState& state,
                            const WalkMemory& memory, const std::string& name,
                            const std::string& reason, double progress) {
  StateMessage message;
  message.state = name;
  message.queue_length = services_.engine.waiting();
  if (!reason.empty()) message.reason = reason;
  if (progress >= 0) message.progress = progress;
  if (state.ready()) message.views = describe(memory.views());
  send(client, to_wire(message));
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
  const int64_t latents = memory.first_latent(memory.folder().chunks());
  SessionMessage message;
  message.world = facts.id;
  message.name = facts.name;
  message.resumed = resumed;
  message.next_chunk = memory.folder().chunks();
  message.latents = latents;
  message.pose = memory.path().back();
  message.prompt = memory.prompt();
  message.seed = std::to_string(facts.seed);
  message.size = {facts.width, facts.height};
  message.fps = facts.fps;
  message.chunk_latents = facts.chunk_latents;
  message.frames_per_latent = facts.frames_per_latent;
  message.fov = facts.fov;
  message.camera = {speeds.move, camera::degrees(speeds.turn), camera::degrees(speeds.pitch_limit)};
  message.views = describe(memory.views());
  message.path.assign(memory.path().begin(), memory.path().end());
  message.path_first = latents - static_cast<int64_t>(message.path.size());
  message.recording = recording;
  message.limits = {limits.message_bytes, limits.sessions, limits.pause_seconds};
  send(client, to_wire(message));
}

void WalkOutput::send_still(const ClientPtr& client, const WalkMemory& memory, size_t view,
                            const ChunkRecord& newest) {
  const WorldFacts& facts = memory.facts();
  FrameBatchMessage message;
  message.view = static_cast<int64_t>(view);
  message.chunk_index = newest.index;
  message.frame_index = facts.time_grid().frames_of_chunk(newest.index).end - 1;
  message.width = facts.width;
  message.height = facts.height;
  message.set_raw(client->output().raw());
  message.payload.data = newest.views[view].newest;
  const size_t bytes = message.payload.data.size();
  submit(client, bytes, [client, message = std::move(message)]() mutable {
    std::string& payload = message.payload.data;
    if (client->output().raw()) {
      payload = raw_of(
          io::decode_image(std::as_bytes(std::span(payload.data(), payload.size())), "a record"));
    }
    message.payload_lengths = {payload.size()};
    client->send_frames(to_wire(message), 1, Clock::time_point());
  });
}

void WalkOutput::send_thumbnails(const ClientPtr& client, size_t view,
                                 std::vector<ThumbnailInfo> frames) {
  send(client, to_wire(ThumbnailsMessage{static_cast<int64_t>(view), std::move(frames)}));
}

void WalkOutput::send_memory(const ClientPtr& client, WalkMemory& memory, size_t view,
                             const ChunkRecord& newest) {
  ChunkStatsMessage stats = stats_of(memory, view, newest);
  stats.replayed = true;
  send_thumbnails(client, view, memory.retained_thumbnails(view, stats.memory));
  submit(client, 0, [client, stats = std::move(stats)]() mutable {
    stats.dropped_frames = client->outbox().dropped_frames();
    client->send(to_wire(stats));
  });
}

ChunkStatsMessage WalkOutput::stats_of(WalkMemory& memory, size_t view,
                                       const ChunkRecord& record) const {
  ChunkStatsMessage stats;
  stats.view = static_cast<int64_t>(view);
  stats.chunk_index = record.index;
  stats.first_latent = memory.first_latent(record.index);
  stats.num_frames = memory.facts().time_grid().frames_of_chunk(record.index).size();
  stats.poses = camera::poses_of(record.cameras);
  stats.event_id = last_event_;
  stats.queue_length = services_.engine.waiting();
  stats.process_bytes = process_memory().value_or(ProcessMemory()).now;
  stats.given = record.recorded;
  stats.memory = memory.stats_of(view);
  return stats;
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
           sent->encode_ms = elapsed_ms(begun, done);
           if (oldest_control) {
             sent->latency_ms = elapsed_ms(*oldest_control, std::max(sender.first, done));
             metrics.control_latency_seconds.observe(*sent->latency_ms / 1e3);
           }
         });
  return sent;
}

void WalkOutput::send_chunk(const ClientPtr& client, WalkMemory& memory, const Pace& pace,
                            size_t view, const ChunkRecord& record, const Times& times,
                            std::shared_ptr<Sent> sent) {
  std::vector<ThumbnailInfo> thumbnails;
  int64_t latent = memory.first_latent(record.index);
  for (const std::string& jpeg : record.views[view].thumbnails) {
    thumbnails.push_back({latent++, {jpeg}});
  }
  send_thumbnails(client, view, std::move(thumbnails));
  ChunkStatsMessage stats = stats_of(memory, view, record);
  ChunkTimes& spent = stats.times.emplace();
  spent.forward = times.forward;
  spent.commit = times.commit;
  spent.store = times.store;
  spent.total = times.total;
  spent.interval = times.interval;
  spent.queue = times.queue;
  spent.frame = client->output().paced() ? pace.frame_seconds() * 1e3 : 0;
  submit(client, 0, [client, view, stats = std::move(stats), sent = std::move(sent)]() mutable {
    stats.times->encode = sent->encode_ms;
    stats.times->control_latency = sent->latency_ms;
    stats.times->payload_bytes = sent->bytes[view];
    stats.dropped_frames = client->outbox().dropped_frames();
    client->send(to_wire(stats));
  });
}

}  // namespace loci::serve
