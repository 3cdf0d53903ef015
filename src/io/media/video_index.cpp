// SPDX-License-Identifier: Apache-2.0
#include "loci/io/media/video_index.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>

#include "loci/base/interrupt.h"
#include "loci/io/media/video_decoder.h"

namespace loci::io {

namespace {

// Whether every packet is one displayed frame. Other containers may split frames into several
// packets, and other codecs have frames that are only referenced or dropped.
bool is_frame_per_packet(const VideoInput& input) {
  const std::string_view container = input.format().iformat->name;
  if (!container.starts_with("mov") && !container.starts_with("matroska")) return false;
  switch (input.stream().codecpar->codec_id) {
    case AV_CODEC_ID_H264:
    case AV_CODEC_ID_HEVC:
    case AV_CODEC_ID_AV1:
    case AV_CODEC_ID_VP9:
    case AV_CODEC_ID_FFV1:
    case AV_CODEC_ID_PRORES:
    case AV_CODEC_ID_MJPEG:
      return true;
    default:
      return false;
  }
}

bool are_known_and_ascend(const std::vector<int64_t>& times) {
  return std::find(times.begin(), times.end(), AV_NOPTS_VALUE) == times.end() &&
         std::adjacent_find(times.begin(), times.end(), std::greater_equal<>()) == times.end();
}

// nullopt if the packets do not determine the displayed frames: there are frames before the first
// key frame, or frames that refer to data before it.
std::optional<VideoIndex> index_packets(VideoInput& input) {
  VideoIndex index;
  const ffmpeg::Packet packet = ffmpeg::make_packet();
  int64_t first = AV_NOPTS_VALUE;
  while (input.read(packet.get())) {
    check_interrupt();
    const bool is_key = (packet->flags & AV_PKT_FLAG_KEY) != 0;
    if (packet->pts == AV_NOPTS_VALUE) return std::nullopt;
    if (first == AV_NOPTS_VALUE) {
      if (!is_key) return std::nullopt;
      first = packet->pts;
    }
    if (packet->pts < first) return std::nullopt;
    if (is_key) {
      const bool has_time = packet->dts != AV_NOPTS_VALUE;
      index.key_frames.push_back({packet->pts, has_time ? packet->dts : packet->pts});
    }
    if ((packet->flags & AV_PKT_FLAG_DISCARD) == 0) index.display_times.push_back(packet->pts);
  }
  std::sort(index.display_times.begin(), index.display_times.end());
  index.timed = are_known_and_ascend(index.display_times);
  return index;
}

VideoIndex index_frames(const std::filesystem::path& path) {
  VideoIndex index;
  VideoDecoder decoder(path);
  const ffmpeg::Frame frame = ffmpeg::make_frame();
  while (decoder.next(frame.get())) {
    check_interrupt();
    index.display_times.push_back(display_time(*frame));
  }
  index.timed = are_known_and_ascend(index.display_times);
  return index;
}

}  // namespace

const VideoIndex::KeyFrame* VideoIndex::key_frame_before(int64_t display_time) const {
  if (!timed) return nullptr;
  const auto found = std::find_if(key_frames.rbegin(), key_frames.rend(), [&](const KeyFrame& key) {
    return key.display_time <= display_time;
  });
  return found == key_frames.rend() ? nullptr : &*found;
}

VideoIndex make_video_index(const std::filesystem::path& path) {
  VideoInput input(path);
  if (is_frame_per_packet(input)) {
    if (std::optional<VideoIndex> index = index_packets(input)) return *std::move(index);
  }
  return index_frames(path);
}

}  // namespace loci::io
