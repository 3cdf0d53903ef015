// SPDX-License-Identifier: Apache-2.0
// Writes videos and reads them back.
#include "loci/io/media/video.h"

#include "loci/io/media/frames.h"

#include "media_test.h"
#include "read_frames.h"

namespace loci::io {
namespace {

using VideoTest = MediaTest;

std::vector<at::Tensor> clip(int64_t count, int64_t height, int64_t width) {
  std::vector<at::Tensor> frames;
  for (int64_t i = 0; i < count; ++i) frames.push_back(moving_picture(height, width, i));
  return frames;
}

void write_clip(const std::filesystem::path& path, const std::vector<at::Tensor>& frames,
                const VideoOptions& options = {}) {
  write_video(path, at::stack(frames), options);
}

uint32_t number_at(const std::string& bytes, size_t offset) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) {
    number = number << 8 | static_cast<unsigned char>(bytes.at(offset + i));
  }
  return number;
}

// The duration in the track header of an MP4 file in seconds: time scale and duration, after two
// dates.
double track_seconds(const std::string& mp4) {
  const size_t header = mp4.find("mdhd");
  return static_cast<double>(number_at(mp4, header + 20)) / number_at(mp4, header + 16);
}

// The names of the boxes at the top of an MP4 file.
std::vector<std::string> box_names(const std::string& mp4) {
  std::vector<std::string> names;
  size_t offset = 0;
  while (offset + 8 <= mp4.size()) {
    const uint32_t size = number_at(mp4, offset);
    names.push_back(mp4.substr(offset + 4, 4));
    if (size < 8) break;
    offset += size;
  }
  return names;
}

TEST_F(VideoTest, KeepsFramesAndTimes) {
  for (const int64_t count : {1, 2, 17, 48}) {
    VideoOptions options;
    options.fps = count == 17 ? 30000.0 / 1001 : 24;
    const std::vector<at::Tensor> frames = clip(count, 48, 64);
    write_clip(file("a.mp4"), frames, options);
    VideoReader reader(file("a.mp4"));
    EXPECT_EQ(reader.frame_count(), count);
    EXPECT_NEAR(reader.fps(), options.fps, 1e-9 * options.fps);
    EXPECT_NEAR(track_seconds(read_file(file("a.mp4"))), static_cast<double>(count) / options.fps,
                1e-9);
    EXPECT_EQ(reader.width(), 64);
    EXPECT_EQ(reader.height(), 48);
    ASSERT_EQ(static_cast<int64_t>(reader.frame_times().size()), count);
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_NEAR(reader.frame_times()[i], static_cast<double>(i) / options.fps, 1e-4);
      const std::optional<at::Tensor> frame = reader.next();
      ASSERT_TRUE(frame);
      EXPECT_GT(psnr(*frame, frames[i]), 30) << "frame " << i << " of " << count;
    }
    EXPECT_FALSE(reader.next());
    EXPECT_FALSE(reader.next());
  }
}

TEST_F(VideoTest, IsCloseToTheOriginal) {
  const std::vector<at::Tensor> frames = clip(16, 128, 192);
  write_clip(file("a.mp4"), frames);
  const at::Tensor back = read_frames(file("a.mp4"));
  const double quality = psnr(back, at::stack(frames));
  EXPECT_GT(quality, 36);  // limited by half-resolution colour at the edges of the board
  VideoOptions worse;
  worse.crf = 40;
  write_clip(file("b.mp4"), frames, worse);
  EXPECT_LT(psnr(read_frames(file("b.mp4")), at::stack(frames)), quality - 3);
  EXPECT_LT(std::filesystem::file_size(file("b.mp4")), std::filesystem::file_size(file("a.mp4")));
}

TEST_F(VideoTest, KeepsColours) {
  const std::vector<std::vector<int>> colours = {{255, 0, 0},     {0, 255, 0},   {0, 0, 255},
                                                 {128, 128, 128}, {16, 16, 16},  {255, 255, 255},
                                                 {0, 0, 0},       {200, 120, 40}};
  at::Tensor image = at::zeros({64, 256, 3}, at::kByte);
  for (size_t i = 0; i < colours.size(); ++i) {
    image.slice(1, 32 * i, 32 * i + 32).copy_(at::tensor(colours[i], at::kByte));
  }
  write_clip(file("a.mp4"), std::vector<at::Tensor>(3, image));
  VideoReader reader(file("a.mp4"));
  while (const std::optional<at::Tensor> frame = reader.next()) {
    for (size_t i = 0; i < colours.size(); ++i) {
      const at::Tensor inner = frame->slice(1, 32 * i + 8, 32 * i + 24);
      EXPECT_LE(largest_difference(inner, at::tensor(colours[i], at::kByte).expand_as(inner)), 3)
          << "colour " << i;
    }
  }
}

TEST_F(VideoTest, WritesTheIndexFirst) {
  write_clip(file("a.mp4"), clip(5, 48, 64));
  const std::string mp4 = read_file(file("a.mp4"));
  const std::vector<std::string> names = box_names(mp4);
  const auto place = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) - names.begin();
  };
  EXPECT_LT(place("moov"), place("mdat"));
  EXPECT_LT(place("mdat"), static_cast<int64_t>(names.size()));
  // The colour tag: primaries, transfer and matrix 1 (BT.709), limited range.
  EXPECT_NE(mp4.find(std::string("colrnclx\0\x01\0\x01\0\x01\0", 15)), std::string::npos);
  // The codec setup: version 1, profile High (100).
  EXPECT_NE(mp4.find("avcC\x01\x64"), std::string::npos);
}

TEST_F(VideoTest, LosslessIsExact) {
  VideoOptions options;
  options.lossless = true;
  options.speed = "veryfast";
  const at::Tensor noise = at::randint(0, 256, {7, 33, 51, 3}, at::TensorOptions(at::kByte));
  const at::Tensor smooth = at::stack(clip(20, 40, 64));
  for (const at::Tensor& frames : {noise, smooth}) {
    write_video(file("a.mp4"), frames, options);
    EXPECT_TRUE(at::equal(read_frames(file("a.mp4")), frames));
  }
}

TEST_F(VideoTest, StreamsFragments) {
  std::string all;
  size_t set_up = 0;
  size_t calls = 0;
  const auto sink = [&](std::span<const std::byte> bytes) {
    all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    ++calls;
  };
  const std::vector<at::Tensor> frames = clip(20, 48, 64);
  VideoWriter writer(sink, 64, 48);
  set_up = all.size();
  EXPECT_EQ(box_names(all), (std::vector<std::string>{"ftyp", "moov"}));
  for (int i = 0; i < 20; ++i) {
    writer.add(frames[i]);
    if (i % 5 != 4) continue;
    // All five frames have been passed on, so the parts so far are a complete video.
    const size_t before = all.size();
    writer.flush();
    EXPECT_GT(all.size(), before);
    save("so_far.mp4", all);
    VideoReader reader(file("so_far.mp4"));
    EXPECT_EQ(reader.frame_count(), i + 1);
    reader.seek(i);
    EXPECT_GT(psnr(*reader.next(), frames[i]), 28);
  }
  writer.finish();
  EXPECT_GT(set_up, 0u);
  EXPECT_GT(calls, 4u);
  save("all.mp4", all);
  EXPECT_EQ(read_frames(file("all.mp4")).size(0), 20);
  EXPECT_EQ(VideoReader(file("all.mp4")).fps(), 16);

  // A file with the same layout.
  VideoOptions options;
  options.fragmented = true;
  write_clip(file("fragments.mp4"), frames, options);
  const std::vector<std::string> names = box_names(read_file(file("fragments.mp4")));
  EXPECT_THAT(names, ::testing::Contains("moof"));
  EXPECT_EQ(read_frames(file("fragments.mp4")).size(0), 20);

  // The writer passes on exceptions of the sink.
  bool gone = false;
  VideoWriter broken(
      [&](std::span<const std::byte>) {
        if (gone) throw std::range_error("the viewer left");
      },
      64, 48);
  broken.add(frames[0]);
  gone = true;
  EXPECT_THROW(broken.flush(), std::range_error);
}

TEST_F(VideoTest, LeavesNothingBehindWithoutFinish) {
  {
    VideoWriter writer(file("a.mp4"), 64, 48);
    for (const at::Tensor& frame : clip(60, 48, 64)) writer.add(frame);
    EXPECT_EQ(writer.frame_count(), 60);
    EXPECT_FALSE(std::filesystem::exists(file("a.mp4")));
  }
  EXPECT_TRUE(listing().empty());
  expect_bad_input([&] { VideoWriter(file("a.mp4"), 64, 48).finish(); }, "no frames");
  EXPECT_TRUE(listing().empty());
  // An older file stays until the new one is complete.
  save("a.mp4", "older");
  { VideoWriter(file("a.mp4"), 64, 48).add(pattern(48, 64)); }
  EXPECT_EQ(read_file(file("a.mp4")), "older");
  EXPECT_EQ(listing().size(), 1u);
}

TEST_F(VideoTest, RejectsBadRequests) {
  const auto writer = [&](int64_t width, int64_t height, const VideoOptions& options = {}) {
    return [=, this] { VideoWriter(file("a.mp4"), width, height, options); };
  };
  VideoOptions options;
  expect_bad_input(writer(63, 48), "odd");
  expect_bad_input(writer(64, 0), "64 x 0");
  expect_bad_input(writer(40'000, 2), "16384");
  expect_bad_input(writer(1 << 20, 1 << 20), "million");
  options.fps = 0;
  expect_bad_input(writer(64, 48, options), "the frame rate is");
  options.fps = std::nan("");
  expect_bad_input(writer(64, 48, options), "the frame rate is");
  options = {};
  options.crf = 52;
  expect_bad_input(writer(64, 48, options), "crf is 52");
  options = {};
  options.speed = "warp";
  expect_bad_input(writer(64, 48, options), "'warp'");
  expect_bad_input([&] { VideoWriter(file("a.avi"), 64, 48); }, ".mp4");
  expect_bad_input([&] { VideoWriter(file("no/a.mp4"), 64, 48); }, "does not exist");
  VideoWriter good(file("a.mp4"), 64, 48);
  EXPECT_THROW(good.add(pattern(48, 62)), Error);
  EXPECT_THROW(good.flush(), Error);
}

}  // namespace
}  // namespace loci::io
