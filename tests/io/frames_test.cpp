// SPDX-License-Identifier: Apache-2.0
#include "loci/io/media/frames.h"

#include "loci/io/media/image.h"

#include "media_test.h"
#include "read_frames.h"

namespace loci::io {
namespace {

using FramesTest = MediaTest;

at::Tensor clip(int64_t count) {
  std::vector<at::Tensor> frames;
  for (int64_t i = 0; i < count; ++i) frames.push_back(moving_picture(18, 26, i));
  return at::stack(frames);
}

TEST_F(FramesTest, FoldersAreLossless) {
  const at::Tensor frames = clip(12);
  write_frame_sequence(file("frames"), frames);
  EXPECT_TRUE(std::filesystem::exists(file("frames/00000.png")));
  EXPECT_TRUE(std::filesystem::exists(file("frames/00011.png")));
  const std::unique_ptr<FrameSource> source = FrameSource::open(file("frames"), 24);
  EXPECT_EQ(source->frame_count(), 12);
  EXPECT_EQ(source->width(), 26);
  EXPECT_EQ(source->height(), 18);
  EXPECT_EQ(source->fps(), 24);
  for (int64_t i = 0; i < 12; ++i) EXPECT_TRUE(at::equal(*source->next(), frames[i]));
  EXPECT_FALSE(source->next());
  source->seek(7);
  EXPECT_TRUE(at::equal(*source->next(), frames[7]));
  expect_bad_input([&] { source->seek(13); }, "there is no frame 13");
  // A shorter sequence replaces a longer one completely. The parent folder can be opened as well.
  write_frame_sequence(file("frames"), frames.slice(0, 0, 3));
  EXPECT_TRUE(at::equal(read_frames(file("")), frames.slice(0, 0, 3)));
  EXPECT_TRUE(at::equal(read_frames(file("frames"), 2), frames.slice(0, 0, 2)));
}

TEST_F(FramesTest, OneInterfaceForVideosAndFolders) {
  const at::Tensor frames = clip(5);
  VideoOptions options;
  options.lossless = true;
  options.fps = 10;
  for (const char* name : {"a.mp4", "a"}) {
    const std::unique_ptr<FrameSink> sink = FrameSink::create(file(name), 26, 18, options);
    for (int64_t i = 0; i < 5; ++i) sink->add(frames[i]);
    EXPECT_FALSE(std::filesystem::exists(file(name)));
    sink->finish();
    const std::unique_ptr<FrameSource> source = FrameSource::open(file(name), 10);
    EXPECT_EQ(source->frame_count(), 5);
    EXPECT_EQ(source->fps(), 10);
    source->seek(3);
    EXPECT_TRUE(at::equal(*source->next(), frames[3])) << name;
  }
  write_png(file("still.png"), frames[0]);
  EXPECT_TRUE(at::equal(read_frames(file("still.png")), frames.slice(0, 0, 1)));
}

TEST_F(FramesTest, SortsByNumberNotByName) {
  std::filesystem::create_directory(file("f"));
  for (const int number : {2, 10, 9}) {
    write_png(file("f/frame_" + std::to_string(number) + ".png"),
              at::full({2, 2, 3}, number, at::kByte));
  }
  save("f/.hidden.png", "");
  save("f/notes.txt", "");
  const at::Tensor frames = read_frames(file("f"));
  ASSERT_EQ(frames.size(0), 3);
  EXPECT_EQ(frames[0][0][0][0].item<int>(), 2);
  EXPECT_EQ(frames[1][0][0][0].item<int>(), 9);
  EXPECT_EQ(frames[2][0][0][0].item<int>(), 10);
}

TEST_F(FramesTest, RejectsBadFolders) {
  const auto open = [&](const std::string& name) {
    return [path = file(name)] { read_frames(path); };
  };
  std::filesystem::create_directory(file("f"));
  expect_bad_input(open("f"), "no frames in this folder");
  expect_bad_input(open("missing"), "no such file");
  write_png(file("f/1.png"), pattern(4, 4));
  write_png(file("f/01.png"), pattern(4, 4));
  expect_bad_input(open("f"), "same frame number");
  std::filesystem::remove(file("f/01.png"));
  write_png(file("f/cover.png"), pattern(4, 4));
  expect_bad_input(open("f"), "does not end in a frame number");
  std::filesystem::remove(file("f/cover.png"));
  write_png(file("f/2.png"), pattern(4, 5));
  expect_bad_input(open("f"), "5 x 4 pixels");
  save("f/2.png", "no image");
  expect_bad_input(open("f"), "2.png");
}

TEST_F(FramesTest, NeverReplacesOtherFiles) {
  std::filesystem::create_directory(file("f"));
  save("f/holiday.png", "precious");
  expect_bad_input([&] { write_frame_sequence(file("f"), clip(2)); }, "holiday.png");
  EXPECT_EQ(read_file(file("f/holiday.png")), "precious");
  std::filesystem::remove(file("f/holiday.png"));
  save("f/0001.png", "named by a camera");
  expect_bad_input([&] { write_frame_sequence(file("f"), clip(2)); }, "0001.png");
  save("g", "a file");
  expect_bad_input([&] { write_frame_sequence(file("g"), clip(2)); }, "it is a file");
  {
    const std::unique_ptr<FrameSink> sink = FrameSink::create(file("h"), 26, 18);
    sink->add(clip(1)[0]);
    EXPECT_THROW(sink->add(pattern(4, 4)), Error);
  }
  expect_bad_input([&] { write_frame_sequence(file("h"), clip(1).slice(0, 0, 0)); }, "no frames");
  EXPECT_THAT(listing(), ::testing::UnorderedElementsAre("f", "g"));
}

}  // namespace
}  // namespace loci::io
