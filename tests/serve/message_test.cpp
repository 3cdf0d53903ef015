// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/protocol/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/serve/net/http_message.h"
#include "loci/serve/net/multipart.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/walk/uploaded_picture.h"

namespace loci::serve {
namespace {

constexpr int kDepth = 16;

std::string refused(std::string_view bytes, Encoding encoding) {
  try {
    decode_message(bytes, encoding, kDepth);
  } catch (const Refusal& refusal) {
    EXPECT_EQ(refusal.code(), "bad_message");
    return refusal.what();
  }
  return "";
}

TEST(Message, SurvivesBothEncodings) {
  const std::string bytes("\x00\xff\x10 raw", 8);
  const Json message = {{"type", "a"},
                        {"big", uint64_t{18446744073709551615U}},
                        {"pose", {0.5, -1e-300, 3}},
                        {"none", nullptr},
                        {"nested", {{"list", {1, {{"bytes", binary(bytes)}}}}}}};
  const std::string packed = encode_message(message, Encoding::kMessagePack);
  const Json unpacked = decode_message(packed, Encoding::kMessagePack, kDepth);
  EXPECT_EQ(unpacked, message);
  EXPECT_EQ(bytes_of(unpacked["nested"]["list"][1]["bytes"], "x"), bytes);
  const std::string text = encode_message(message, Encoding::kJson);
  const Json parsed = decode_message(text, Encoding::kJson, kDepth);
  EXPECT_EQ(parsed["big"], message["big"]);
  EXPECT_EQ(bytes_of(parsed["nested"]["list"][1]["bytes"], "x"), bytes);
  EXPECT_EQ(bytes_of("data:image/png;base64," + base64_encode(bytes), "x"), bytes);
  for (size_t size = 0; size < 7; ++size) {
    EXPECT_EQ(base64_decode(base64_encode(bytes.substr(0, size))), bytes.substr(0, size));
  }
  EXPECT_EQ(base64_encode("Man"), "TWFu");
  EXPECT_EQ(base64_encode("Ma"), "TWE=");
  EXPECT_EQ(base64_encode("M"), "TQ==");
  EXPECT_THROW(base64_decode("a"), Refusal);
  EXPECT_THROW(base64_decode("a b="), Refusal);
  EXPECT_THROW(bytes_of(7, "x"), Refusal);
}

TEST(Message, RefusesDamagedAndOversizedInput) {
  const Json message = {{"type", "event"}, {"list", {1, 2.5, "text", true}}, {"map", {{"a", 300}}}};
  const std::string packed = encode_message(message, Encoding::kMessagePack);
  for (size_t size = 0; size < packed.size(); ++size) {
    EXPECT_NE(refused(packed.substr(0, size), Encoding::kMessagePack), "") << size;
  }
  EXPECT_NE(refused(packed + "x", Encoding::kMessagePack), "");
  // Nested lists, and containers that announce 2^32 items.
  EXPECT_THAT(refused(std::string(1 << 20, '\x91') + "\x01", Encoding::kMessagePack),
              ::testing::HasSubstr("deep"));
  EXPECT_NE(refused("\xdd\xff\xff\xff\xff\x01", Encoding::kMessagePack), "");
  EXPECT_NE(refused("\xdf\xff\xff\xff\xff\x01", Encoding::kMessagePack), "");
  EXPECT_NE(refused("\xc6\xff\xff\xff\xff\x01", Encoding::kMessagePack), "");
  EXPECT_NE(refused("\xc1", Encoding::kMessagePack), "");
  EXPECT_THAT(refused(std::string(1 << 20, '[') + "]", Encoding::kJson),
              ::testing::HasSubstr("deep"));
  EXPECT_NE(refused("[1, 2]", Encoding::kJson), "");
  EXPECT_NE(refused("{\"a\": }", Encoding::kJson), "");
  EXPECT_NE(refused("", Encoding::kJson), "");
  // Every MessagePack type that is used, with every size of its length field.
  for (const size_t size : {3U, 40U, 300U, 70000U}) {
    const Json long_one = {{"s", std::string(size, 'x')},
                           {"b", binary(std::string(size, '\0'))},
                           {"l", std::vector<int>(size, 7)},
                           {"i", {-1, -200, -70000, INT64_MIN, 255, 65536, 1LL << 40}}};
    const std::string bytes = encode_message(long_one, Encoding::kMessagePack);
    EXPECT_EQ(decode_message(bytes, Encoding::kMessagePack, kDepth), long_one);
  }
}

TEST(Target, SplitsAndDecodesPathAndQuery) {
  const Target target = Target::parse("/v1/worlds/a%20b?limit=5&name=x%2By+z&flag");
  EXPECT_EQ(target.path, (std::vector<std::string>{"v1", "worlds", "a b"}));
  EXPECT_EQ(target.query.at("name"), "x+y z");
  EXPECT_EQ(target.query.at("flag"), "");
  EXPECT_TRUE(Target::parse("/").path.empty());
  for (const char* bad : {"", "http://x/", "/%", "/%zz", "/%00", "*"}) {
    EXPECT_THROW(Target::parse(bad), Refusal) << bad;
  }
}

TEST(Range, FollowsRfc9110) {
  uint64_t begin = 0, end = 0;
  const auto range = [&](const char* header) { return parse_range(header, 100, begin, end); };
  EXPECT_TRUE(range(""));
  EXPECT_EQ(end - begin, 100U);
  EXPECT_TRUE(range("bytes=10-19"));
  EXPECT_EQ(std::pair(begin, end), std::pair(uint64_t{10}, uint64_t{20}));
  EXPECT_TRUE(range("bytes=90-"));
  EXPECT_EQ(std::pair(begin, end), std::pair(uint64_t{90}, uint64_t{100}));
  EXPECT_TRUE(range("bytes=-7"));
  EXPECT_EQ(std::pair(begin, end), std::pair(uint64_t{93}, uint64_t{100}));
  EXPECT_TRUE(range("bytes=0-1000"));
  EXPECT_EQ(end, 100U);
  EXPECT_FALSE(range("bytes=100-"));
  EXPECT_TRUE(range("bytes=1-2,5-6"));
  EXPECT_EQ(end - begin, 100U);
}

TEST(Multipart, ParsesFieldsAndFiles) {
  const std::string body =
      "--abc\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\na town\r\n"
      "--abc\r\ncontent-disposition: form-data; name=\"input_reference\"; filename=\"a.png\"\r\n"
      "Content-Type: image/png\r\n\r\n\x89PNG\r\n--ab\r\n--abc--\r\n";
  const Json form = parse_multipart("multipart/form-data; boundary=abc", body);
  EXPECT_EQ(form["prompt"], "a town");
  EXPECT_EQ(bytes_of(form["input_reference"], "x"), "\x89PNG\r\n--ab");
  for (size_t size = 0; size + 5 < body.size(); ++size) {
    EXPECT_THROW(parse_multipart("multipart/form-data; boundary=abc", body.substr(0, size)),
                 Refusal)
        << size;
  }
  EXPECT_THROW(parse_multipart("multipart/form-data", body), Refusal);
}

TEST(Upload, ChecksTheSizeBeforeDecoding) {
  // A PNG that announces 60000 x 60000 pixels, and a JPEG of 65000 x 65000.
  const std::string png("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xea\x60\0\0\xea\x60", 24);
  EXPECT_EQ(announced_size(png), (std::pair<int64_t, int64_t>(60000, 60000)));
  const std::string jpeg("\xff\xd8\xff\xe0\x00\x04\x00\x00\xff\xc2\x00\x11\x08\xfd\xe8\xfd\xe8",
                         17);
  EXPECT_EQ(announced_size(jpeg + "\x03"), (std::pair<int64_t, int64_t>(65000, 65000)));
  for (const std::string& bytes : {png, jpeg + "\x03", std::string("GIF89a"), std::string()}) {
    EXPECT_THROW(uploaded_picture(bytes, 40'000'000, 48, 32), Refusal);
  }
}

}  // namespace
}  // namespace loci::serve
