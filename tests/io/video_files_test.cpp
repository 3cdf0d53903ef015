// SPDX-License-Identifier: Apache-2.0
// Videos of other programs: containers, times, colours, damage. Created by make_media.py.
#include <random>

#include "loci/io/media/frames.h"
#include "loci/io/media/video.h"

#include "media_test.h"
#include "read_frames.h"

namespace loci::io {
namespace {

using VideoFilesTest = MediaTest;

// The number encoded in a frame: eight blocks at the top, lowest bit on the left, bright for 1.
int64_t shown_number(const at::Tensor& frame) {
  const int64_t block = frame.size(1) / 8;
  int64_t number = 0;
  for (int64_t bit = 0; bit < 8; ++bit) {
    const at::Tensor inner =
        frame.slice(0, 4, frame.size(0) / 2 - 4).slice(1, bit * block + 2, (bit + 1) * block - 2);
    if (inner.to(at::kFloat).mean().item<float>() > 128) number |= int64_t{1} << bit;
  }
  return number;
}

TEST_F(VideoFilesTest, ReturnsEveryFrameOnceInOrder) {
  struct Case {
    const char* name;
    int64_t first, count;
    double fps;
  };
  for (const Case& c : {Case{"pyav_h264.mp4", 0, 60, 24}, Case{"pyav_trimmed.mp4", 20, 40, 24},
                        Case{"pyav_hevc.mp4", 0, 60, 24}, Case{"pyav_hevc_cut.mp4", 24, 36, 24},
                        Case{"pyav_vp8.webm", 0, 40, 24}, Case{"opencv.mp4", 0, 10, 16},
                        Case{"opencv.avi", 0, 10, 16}, Case{"pyav_variable.mp4", 0, 10, 15}}) {
    VideoReader reader(media(c.name));
    EXPECT_EQ(reader.width(), 64) << c.name;
    EXPECT_EQ(reader.height(), 48) << c.name;
    EXPECT_NEAR(reader.fps(), c.fps, 0.5) << c.name;
    for (int64_t i = 0; i < c.count; ++i) {
      EXPECT_EQ(reader.position(), i);
      const std::optional<at::Tensor> frame = reader.next();
      ASSERT_TRUE(frame) << c.name;
      EXPECT_EQ(shown_number(*frame), c.first + i) << c.name;
    }
    EXPECT_FALSE(reader.next()) << c.name;
    EXPECT_EQ(reader.frame_count(), c.count) << c.name;
  }
}

TEST_F(VideoFilesTest, SeeksAreExact) {
  for (const char* name :
       {"pyav_h264.mp4", "pyav_trimmed.mp4", "pyav_hevc.mp4", "pyav_hevc_cut.mp4", "pyav_vp8.webm",
        "opencv.mp4", "opencv.avi", "pyav_variable.mp4"}) {
    VideoReader reader(media(name));
    const at::Tensor all = read_frames(media(name));
    std::mt19937 random(3);
    for (int i = 0; i < 40; ++i) {
      const auto target = static_cast<int64_t>(random() % all.size(0));
      reader.seek(target);
      EXPECT_EQ(reader.position(), target);
      const std::optional<at::Tensor> frame = reader.next();
      ASSERT_TRUE(frame);
      EXPECT_TRUE(at::equal(*frame, all[target])) << name << " frame " << target;
      if (i % 3 == 0 && target + 1 < all.size(0)) {
        EXPECT_TRUE(at::equal(*reader.next(), all[target + 1])) << name;
      }
    }
    reader.seek(all.size(0));
    EXPECT_FALSE(reader.next());
    reader.seek(1);
    EXPECT_EQ(reader.skip(3), 3);
    EXPECT_TRUE(at::equal(*reader.next(), all[4]));
    EXPECT_EQ(reader.skip(1000), all.size(0) - 5);
    expect_bad_input([&] { reader.seek(all.size(0) + 1); }, "there is no frame");
    expect_bad_input([&] { reader.seek(-1); }, "there is no frame -1");
  }
}

TEST_F(VideoFilesTest, ReportsVariableFrameTimes) {
  VideoReader reader(media("pyav_variable.mp4"));
  const std::vector<int> thirtieths = {0, 1, 2, 6, 7, 15, 16, 17, 30, 31};
  ASSERT_EQ(reader.frame_times().size(), thirtieths.size());
  for (size_t i = 0; i < thirtieths.size(); ++i) {
    EXPECT_NEAR(reader.frame_times()[i], thirtieths[i] / 30.0, 1e-3);
  }
}

TEST_F(VideoFilesTest, FollowsColourTags) {
  const std::vector<std::vector<int>> colours = {{255, 0, 0},     {0, 255, 0},     {0, 0, 255},
                                                 {128, 128, 128}, {255, 255, 255}, {0, 0, 0},
                                                 {200, 120, 40},  {30, 90, 160}};
  for (const char* name :
       {"pyav_bt709.mp4", "pyav_bt601.mp4", "pyav_bt709_full.mp4", "pyav_untagged.mp4"}) {
    const at::Tensor frame = read_frames(media(name), 1)[0];
    for (size_t i = 0; i < colours.size(); ++i) {
      const at::Tensor inner = frame.slice(1, 16 * i + 5, 16 * i + 11);
      EXPECT_LE(largest_difference(inner, at::tensor(colours[i], at::kByte).expand_as(inner)), 3)
          << name << " colour " << i;
    }
  }
}

TEST_F(VideoFilesTest, AppliesTheRotation) {
  std::string mp4 = read_file(media("pyav_h264.mp4"));
  const at::Tensor stored = read_frames(media("pyav_h264.mp4"), 1)[0];
  // The matrix of the track header, 44 bytes after the name: a b u, c d v, x y w.
  const size_t matrix = mp4.find("tkhd") + 44;
  const auto put = [&](size_t element, int32_t value) {
    for (int i = 0; i < 4; ++i) {
      mp4[matrix + 4 * element + i] =
          static_cast<char>(static_cast<uint32_t>(value) >> (24 - 8 * i));
    }
  };
  const int32_t one = 1 << 16;
  const auto with_matrix = [&](int32_t a, int32_t b, int32_t c, int32_t d) {
    put(0, a);
    put(1, b);
    put(3, c);
    put(4, d);
    return VideoReader(save("turned.mp4", mp4));
  };
  VideoReader clockwise = with_matrix(0, one, -one, 0);
  EXPECT_EQ(clockwise.width(), 48);
  EXPECT_EQ(clockwise.height(), 64);
  EXPECT_TRUE(at::equal(*clockwise.next(), stored.rot90(-1)));
  EXPECT_TRUE(at::equal(*with_matrix(0, -one, one, 0).next(), stored.rot90(1)));
  EXPECT_TRUE(at::equal(*with_matrix(-one, 0, 0, -one).next(), stored.rot90(2)));
  EXPECT_TRUE(at::equal(*with_matrix(one, 0, 0, one).next(), stored));
}

TEST_F(VideoFilesTest, RejectsOtherFiles) {
  const auto open = [&](const std::string& name, std::string_view content) {
    return [path = save(name, content)] { VideoReader reader(path); };
  };
  expect_bad_input([&] { VideoReader reader(file("missing.mp4")); }, "no such file");
  expect_bad_input([&] { VideoReader reader(file("")); }, "not a regular file");
  expect_bad_input(open("empty.mp4", ""), "empty");
  expect_bad_input(open("text.mp4", "no video at all"), "not a readable video");
  expect_bad_input(open("text.txt", "no video at all"), "not a readable video");
  // Playlists are not followed.
  expect_bad_input(open("list.m3u8", "#EXTM3U\n#EXTINF:1,\n/etc/hostname\n#EXT-X-ENDLIST\n"),
                   "not a readable video");
  expect_bad_input(open("list.mp4", "ffconcat version 1.0\nfile pyav_h264.mp4\n"),
                   "not a readable video");
}

TEST_F(VideoFilesTest, DetectsDamage) {
  // The end of the file, which contains its index, is missing.
  const std::string late = read_file(media("opencv.mp4"));
  save("late.mp4", late.substr(0, late.size() - 100));
  expect_bad_input([&] { VideoReader reader(file("late.mp4")); }, "late.mp4");

  // The index is complete, but the data is truncated: detected by counting and by reading.
  write_video(file("whole.mp4"), read_frames(media("pyav_h264.mp4")));
  const std::string whole = read_file(file("whole.mp4"));
  // The box of sample sizes is followed by the box of their offsets.
  const size_t sizes_end = whole.find("stco") - 4;
  size_t last_sample = 0;
  for (size_t i = sizes_end - 4; i < sizes_end; ++i) {
    last_sample = last_sample << 8 | static_cast<unsigned char>(whole[i]);
  }
  ASSERT_LT(last_sample, 1000u);
  for (const size_t size : {whole.size() * 3 / 10, whole.size() * 6 / 10, whole.size() * 9 / 10,
                            whole.size() - last_sample, whole.size() - 1}) {
    save("cut.mp4", whole.substr(0, size));
    expect_bad_input([&] { read_frames(file("cut.mp4")); }, "cut.mp4");
    expect_bad_input(
        [&] {
          VideoReader reader(file("cut.mp4"));
          while (reader.next()) {
          }
        },
        "cut.mp4");
  }

  // One wrong bit in the data of the first frames. A decoder detects and conceals most of these;
  // the others result in valid frames.
  const std::string intact = read_file(media("pyav_h264.mp4"));
  const size_t data = intact.find("mdat") + 800;
  int noticed = 0;
  for (size_t i = 0; i < 40; ++i) {
    std::string flipped = intact;
    flipped[data + 10 * i] ^= 0x10;
    save("flipped.mp4", flipped);
    try {
      read_frames(file("flipped.mp4"));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << error.what();
      ++noticed;
    }
  }
  EXPECT_GT(noticed, 15);

  // Any damage results in frames or in one error, never in a crash.
  std::mt19937 random(5);
  int refused = 0;
  for (int i = 0; i < 60; ++i) {
    std::string bad = read_file(media(i % 2 == 0 ? "pyav_h264.mp4" : "opencv.avi"));
    for (int k = 0; k < 20; ++k) bad[random() % bad.size()] = static_cast<char>(random());
    save("bad.mp4", bad);
    try {
      VideoReader reader(file("bad.mp4"));
      reader.seek(reader.frame_count() / 2);
      while (reader.next()) {
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << error.what();
      EXPECT_THAT(error.what(), ::testing::HasSubstr("bad.mp4"));
      ++refused;
    }
  }
  EXPECT_GT(refused, 20);
}

TEST_F(VideoFilesTest, ChecksSizesBeforeDecoding) {
  const auto open = [&](const std::string& sides) {
    const std::string content =
        "YUV4MPEG2 " + sides + " F25:1 Ip A1:1 C420jpeg\nFRAME\n" + std::string(6, 'x');
    return [path = save("a.y4m", content)] { VideoReader(path).next(); };
  };
  open("W2 H2")();
  expect_bad_input(open("W14000 H14000"), "14000 x 14000");
  expect_bad_input(open("W60000 H60000"), "a.y4m");
  expect_bad_input(open("W0 H2"), "a.y4m");
  expect_bad_input(open("W4 H4"), "a.y4m");  // fewer bytes than pixels
}

}  // namespace
}  // namespace loci::io
