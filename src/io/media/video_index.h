// SPDX-License-Identifier: Apache-2.0
// The exact list of the frames in a video file. Used inside io only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace loci::io {

// Times are in units of the stream.
struct VideoIndex {
  struct KeyFrame {
    int64_t display_time;
    int64_t decoding_time;
  };
  std::vector<int64_t> display_times;  // one per frame, in order of display
  std::vector<KeyFrame> key_frames;    // in order of decoding; none when unknown
  // Whether display_times are all known and ascend, so that each names one frame.
  bool timed = false;

  // Where to start decoding so that the frame displayed at this time comes out whole; nullptr when
  // only the start of the file will do.
  const KeyFrame* key_frame_before(int64_t display_time) const;
};

// Reads the file through: its packets when each of them is one frame, otherwise decoding.
VideoIndex make_video_index(const std::filesystem::path& path);

}  // namespace loci::io
