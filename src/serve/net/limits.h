// SPDX-License-Identifier: Apache-2.0
// Every limit of the server in one place: what a client may send, hold, ask for and leave behind.
#pragma once

#include <cstddef>
#include <cstdint>

namespace loci::serve {

struct Limits {
  // Connections.
  int connections = 256;
  int connections_per_address = 64;
  double header_seconds = 10;  // from the first byte awaited to the last of the header
  double body_seconds = 60;    // for all of a body, however it trickles
  double idle_seconds = 30;    // between requests of one connection
  double write_seconds = 30;   // for 64 KiB of an answer, or one message
  double init_seconds = 10;    // from the upgrade to `init`
  double ping_seconds = 60;    // a WebSocket that is silent so long is asked, then cut
  size_t header_bytes = 16 << 10;
  size_t body_bytes = 16 << 20;
  size_t message_bytes = 8 << 20;
  int message_depth = 16;  // nesting of maps and lists

  // Rates, with bursts of twice as much.
  double requests_per_second = 50;   // of an address
  double messages_per_second = 100;  // of a WebSocket

  // Sessions.
  int sessions = 16;
  double pause_seconds = 300;   // without input a walk is paused
  double linger_seconds = 20;   // a walk without a connection stays in memory
  size_t queued_events = 1024;  // of a session
  size_t script_frames = 4096;
  size_t outbox_frame_bytes = 8 << 20;  // frames on their way to one client
  size_t outbox_bytes = 4 << 20;        // other messages
  size_t encoder_bytes = 128 << 20;     // frames of all walks that wait to be encoded
  int64_t snapshot_chunks = 64;         // chunks to read back at most

  // Work.
  int64_t pixels = 1280 * 720;  // of a frame
  int64_t upload_pixels = 40'000'000;
  int64_t steps = 100;
  int64_t history_frames = 256;
  size_t prompt_bytes = 4000;
  double video_seconds = 60;    // of a job
  double record_seconds = 600;  // of a recording
  int queued_videos = 16;

  // Disk.
  uint64_t disk_bytes = uint64_t{20} << 30;  // of the data folder
  double keep_hours = 168;                   // videos, and live worlds that nobody walks
};

}  // namespace loci::serve
