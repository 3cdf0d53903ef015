// SPDX-License-Identifier: Apache-2.0
#include "loci/io/media/image.h"

#include <random>

#include "media_test.h"

namespace loci::io {
namespace {

using ImageTest = MediaTest;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// A PNG of 8-bit RGB that ends after its header. The checksum of the header is correct.
std::string png_header(uint32_t width, uint32_t height) {
  const auto big_endian = [](uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
    return bytes;
  };
  std::string chunk =
      "IHDR" + big_endian(width) + big_endian(height) + std::string("\x08\x02\0\0\0", 5);
  uint32_t crc = ~0u;
  for (const char c : chunk) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return "\x89PNG\r\n\x1a\n" + big_endian(13) + chunk + big_endian(~crc) + big_endian(1000) +
         "IDAT";
}

TEST_F(ImageTest, PngIsLossless) {
  for (const auto& [height, width] : {std::pair{1, 1}, {1, 300}, {37, 53}, {64, 128}}) {
    const at::Tensor image = pattern(height, width);
    write_image(file("a.PNG"), image);
    const at::Tensor back = read_image(file("a.PNG"));
    EXPECT_TRUE(at::equal(back, image)) << height << " x " << width;
    EXPECT_TRUE(back.is_contiguous());
  }
  // A view that is not contiguous is written correctly.
  const at::Tensor flipped = pattern(8, 6).transpose(0, 1);
  write_png(file("view.png"), flipped);
  EXPECT_TRUE(at::equal(read_image(file("view.png")), flipped));
}

TEST_F(ImageTest, JpegIsCloseAndSmallerAtLowQuality) {
  const at::Tensor image = moving_picture(60, 90, 0);
  write_image(file("a.jpeg"), image);
  EXPECT_GT(psnr(read_image(file("a.jpeg")), image), 40);
  const std::vector<std::byte> small = encode_jpeg(image, 50);
  EXPECT_GT(psnr(decode_image(small, "memory"), image), 25);
  EXPECT_LT(small.size(), encode_jpeg(image, 95).size());
  EXPECT_EQ(decode_jpeg(encode_jpeg(pattern(1, 1), 100), "memory").numel(), 3);
}

TEST_F(ImageTest, ReadsFilesOfOpenCvAndPil) {
  const at::Tensor expected = pattern(24, 40);
  const at::Tensor grey = expected.slice(2, 0, 1).expand({24, 40, 3});
  EXPECT_TRUE(at::equal(read_image(media("opencv.png")), expected));
  EXPECT_TRUE(at::equal(read_image(media("opencv_16bit.png")), expected));
  EXPECT_TRUE(at::equal(read_image(media("opencv_grey.png")), grey));
  EXPECT_TRUE(at::equal(read_image(media("pil_1bit.png")), (grey > 100).to(at::kByte) * 255));
  EXPECT_TRUE(at::equal(read_image(media("interlaced.png")), expected));
  // Transparency is dropped, colours stay.
  EXPECT_TRUE(at::equal(read_image(media("pil_alpha.png")), expected));
  EXPECT_TRUE(at::equal(read_image(media("pil_grey_alpha.png")),
                        expected.slice(2, 1, 2).expand({24, 40, 3})));
  EXPECT_TRUE(at::equal(read_image(media("pil_palette.png")),
                        read_image(media("expected_pil_palette.png"))));
  // JPEG decoders may differ by 1.
  for (const auto& [name, decoded] :
       {std::pair{"opencv.jpg", "expected_opencv_jpg.png"},
        {"opencv_progressive.jpg", "expected_opencv_progressive_jpg.png"},
        {"opencv_grey.jpg", "expected_opencv_grey_jpg.png"},
        {"pil_cmyk.jpg", "expected_pil_cmyk.png"},
        {"pil_turned.jpg", "expected_opencv_turned.png"}}) {
    EXPECT_LE(largest_difference(read_image(media(name)), read_image(media(decoded))), 1) << name;
  }
}

TEST_F(ImageTest, AppliesEveryExifOrientation) {
  std::string jpeg = read_file(media("pil_turned.jpg"));
  // The entry is tag 0x0112, type 3, count 1 and the value, in the byte order that PIL chose.
  size_t value = jpeg.find(std::string("\x12\x01\x03\0\x01\0\0\0", 8));
  if (value != std::string::npos) {
    value += 8;
  } else {
    value = jpeg.find(std::string("\x01\x12\0\x03\0\0\0\x01", 8));
    ASSERT_NE(value, std::string::npos);
    value += 9;
  }
  const auto oriented = [&](char orientation) {
    jpeg[value] = orientation;
    return decode_image(bytes_of(jpeg), "memory");
  };
  const at::Tensor stored = oriented(1);
  // For each orientation, the stored pixel that appears at (y, x) of the upright image.
  const int64_t h = stored.size(0);
  const int64_t w = stored.size(1);
  const int64_t y = 5;
  const int64_t x = 20;
  const std::pair<int64_t, int64_t> places[] = {
      {y, x}, {y, w - 1 - x}, {h - 1 - y, w - 1 - x}, {h - 1 - y, x},
      {x, y}, {x, h - 1 - y}, {w - 1 - x, h - 1 - y}, {w - 1 - x, y}};
  for (int i = 0; i < 8; ++i) {
    const at::Tensor upright = oriented(static_cast<char>(i + 1));
    EXPECT_EQ(upright.size(0), i < 4 ? h : w);
    EXPECT_TRUE(at::equal(upright[places[i].first][places[i].second], stored[y][x])) << i + 1;
    EXPECT_TRUE(upright.is_contiguous());
  }
  EXPECT_TRUE(at::equal(oriented(9), stored));  // 9 is invalid
}

TEST_F(ImageTest, RejectsBadFiles) {
  const auto read = [&](const std::string& name, std::string_view content) {
    return [path = save(name, content)] { read_image(path); };
  };
  expect_bad_input([&] { read_image(file("missing.png")); }, "missing.png");
  expect_bad_input([&] { read_image(file("")); }, "not a regular file");
  expect_bad_input(read("empty.png", ""), "empty");
  expect_bad_input(read("text.png", "hello"), "neither a PNG nor a JPEG");
  expect_bad_input(read("a.png", "RIFF1234WEBPVP8 "), "WebP");
  expect_bad_input([] { read_image(media("opencv.mp4")); }, "or a video");

  for (const char* name :
       {"opencv.png", "opencv.jpg", "opencv_progressive.jpg", "interlaced.png"}) {
    const std::string whole = read_file(media(name));
    for (const size_t size : {size_t{9}, size_t{40}, whole.size() / 2, whole.size() - 20}) {
      expect_bad_input([&] { decode_image(bytes_of(whole).first(size), name); },
                       std::string(name) + ": damaged");
    }
  }
  std::string flipped = read_file(media("opencv.png"));
  flipped[flipped.size() / 2] ^= 0x40;
  expect_bad_input(read("flipped.png", flipped), "damaged");

  // Any damage results in an image or in one error.
  std::mt19937 random(7);
  int refused = 0;
  for (const char* name : {"pil_palette.png", "interlaced.png", "pil_turned.jpg", "pil_cmyk.jpg"}) {
    for (int i = 0; i < 100; ++i) {
      std::string bad = read_file(media(name));
      for (int k = 0; k < 3; ++k)
        bad[8 + random() % (bad.size() - 8)] = static_cast<char>(random());
      try {
        EXPECT_EQ(decode_image(bytes_of(bad), "bad").size(2), 3);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << error.what();
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 200);
}

TEST_F(ImageTest, ChecksSizesBeforeAllocating) {
  const auto decode = [](const std::string& content) {
    return [content] { decode_image(bytes_of(content), "bomb"); };
  };
  expect_bad_input(decode(png_header(32768, 32768)), "32768 x 32768");
  expect_bad_input(decode(png_header(0, 5)), "damaged PNG");
  expect_bad_input(decode(png_header(0x7fffffff, 0x7fffffff)), "bomb");
  // A valid size without pixels.
  expect_bad_input(decode(png_header(10, 10)), "ends too early");
  // Start of image and a frame header of 60000 x 60000 with three colours.
  const std::string jpeg(
      "\xff\xd8\xff\xc0\x00\x11\x08\xea\x60\xea\x60\x03\x01\x11\x00\x02\x11\x00\x03\x11\x00"
      "\xff\xda\x00\x0c\x03\x01\x00\x02\x00\x03\x00\x00\x3f\x00\x00",
      36);
  expect_bad_input(decode(jpeg), "60000 x 60000");
}

TEST_F(ImageTest, RejectsBadRequests) {
  const at::Tensor image = pattern(4, 4);
  expect_bad_input([&] { write_image(file("a.gif"), image); }, ".png, .jpg or .jpeg");
  expect_bad_input([&] { write_jpeg(file("a.jpg"), image, 0); }, "quality is 0");
  expect_bad_input([&] { write_png(file("no/folder.png"), image); }, "does not exist");
  expect_bad_input([] { encode_jpeg(at::zeros({1, 70000, 3}, at::kByte)); }, "70000");
  EXPECT_THROW(encode_png(at::zeros({4, 4}, at::kByte)), Error);
  EXPECT_THROW(encode_png(at::zeros({4, 4, 3})), Error);
  EXPECT_THROW(encode_png(at::zeros({0, 4, 3}, at::kByte)), Error);
  EXPECT_TRUE(listing().empty());
}

}  // namespace
}  // namespace loci::io
