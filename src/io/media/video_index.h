// SPDX-License-Identifier: Apache-2.0
// The exact list of the frames of a video file. Internal to io.
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
  std::vector<int64_t> display_times;  // one per frame, in display order
  std::vector<KeyFrame> key_frames;    // in decoding order; empty if unknown
  // Whether all display_times are known and strictly ascending, so that each identifies one frame.
  bool timed = false;

  // The key frame from which decoding must start to get a complete frame at this display time;
  // nullptr if decoding must start at the beginning of the file.
  const KeyFrame* key_frame_before(int64_t display_time) const;
};

// Reads the whole file: only its packets if each is one displayed frame, otherwise by decoding.
VideoIndex make_video_index(const std::filesystem::path& path);

}  // namespace loci::io
