// SPDX-License-Identifier: Apache-2.0
// All limits of the server.
#pragma once

#include <cstddef>
#include <cstdint>

namespace loci::serve {

struct Limits {
  // Connections.
  int connections = 256;
  int connections_per_address = 64;
  double header_seconds = 10;  // to receive the whole header
  double body_seconds = 60;    // to receive the whole body
  double idle_seconds = 30;    // between requests of one connection
  double write_seconds = 30;   // to send 64 KiB of a response, or one message
  double init_seconds = 10;    // from the upgrade to `init`
  double ping_seconds = 60;    // a silent WebSocket is pinged after half of it, then closed
  size_t header_bytes = 16 << 10;
  size_t body_bytes = 16 << 20;
  size_t message_bytes = 8 << 20;
  int message_depth = 16;  // nesting of maps and lists

  // Rates. Bursts may be twice as large.
  double requests_per_second = 50;   // per client address
  double messages_per_second = 100;  // per WebSocket

  // Sessions.
  int sessions = 16;
  double pause_seconds = 300;   // without input until a walk is paused
  double linger_seconds = 20;   // that a walk without a connection stays in memory
  size_t queued_events = 1024;  // per session
  size_t script_frames = 4096;
  size_t outbox_frame_bytes = 8 << 20;  // frames that wait to be sent to one client
  size_t outbox_bytes = 4 << 20;        // other messages that wait to be sent to one client
  size_t encoder_bytes = 128 << 20;     // frames of all walks that wait to be encoded
  int64_t snapshot_chunks = 64;         // chunks between two snapshots of a memory
  double replay_seconds = 10;           // to replay the chunks since the newest snapshot

  // Work.
  int64_t pixels = 1280 * 720;  // per frame
  int64_t upload_pixels = 40'000'000;
  int64_t steps = 100;
  int64_t history_frames = 256;
  size_t prompt_bytes = 4000;
  double video_seconds = 60;    // length of a video job
  double record_seconds = 600;  // length of a recording
  int queued_videos = 16;

  // Disk.
  uint64_t disk_bytes = uint64_t{20} << 30;  // size of the data folder
  double keep_hours = 168;  // until videos, and live worlds that are not open, are deleted
};

}  // namespace loci::serve
