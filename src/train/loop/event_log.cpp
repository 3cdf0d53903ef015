// SPDX-License-Identifier: Apache-2.0
#include "loci/train/loop/event_log.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstring>

#include "loci/base/error.h"
#include "loci/io/media/image.h"

namespace loci::train {

namespace {

// Writer of the protocol buffer fields that events use.
class Message {
 public:
  Message& varint(int field, uint64_t value) {
    key(field, 0);
    number(value);
    return *this;
  }
  Message& float64(int field, double value) { return fixed<uint64_t>(field, 1, value); }
  Message& float32(int field, float value) { return fixed<uint32_t>(field, 5, value); }
  Message& bytes(int field, std::string_view value) {
    key(field, 2);
    number(value.size());
    out_ += value;
    return *this;
  }
  const std::string& text() const { return out_; }

 private:
  void key(int field, int wire) { number(static_cast<uint64_t>(field) << 3 | wire); }
  void number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  template <typename Bits, typename Value>
  Message& fixed(int field, int wire, Value value) {
    key(field, wire);
    const Bits bits = std::bit_cast<Bits>(value);
    for (size_t i = 0; i < sizeof(Bits); ++i) out_ += static_cast<char>(bits >> (8 * i));
    return *this;
  }

  std::string out_;
};

template <typename Number>
std::string little_endian(Number value) {
  std::string out;
  for (size_t i = 0; i < sizeof(Number); ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

// The format stores checksums masked, so that a checksum of data that contains checksums is sound.
std::string masked_checksum(std::string_view bytes) {
  return little_endian<uint32_t>(std::rotr(crc32c(bytes), 15) + 0xa282ead8U);
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static const std::array<uint32_t, 256> kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0x82f63b78U : 0U);
      table[i] = value;
    }
    return table;
  }();
  uint32_t sum = ~0U;
  for (const char byte : bytes) {
    sum = sum >> 8 ^ kTable[(sum ^ static_cast<unsigned char>(byte)) & 0xff];
  }
  return ~sum;
}

void EventLog::record(std::string_view data) {
  const std::string length = little_endian<uint64_t>(data.size());
  out_ << length << masked_checksum(length) << data << masked_checksum(data);
  out_.flush();
  if (!out_) fail_machine("cannot write {}: is the disk full?", file_.string());
}

void EventLog::write(int64_t step, std::string_view summary) {
  if (!out_.is_open()) {
    file_ = folder_ / fmt::format("events.out.tfevents.{:.0f}.loci.{}", now(), getpid());
    out_.open(file_, std::ios::binary | std::ios::app);
    record(Message().float64(1, now()).bytes(3, "brain.Event:2").text());
  }
  record(Message()
             .float64(1, now())
             .varint(2, static_cast<uint64_t>(step))
             .bytes(5, Message().bytes(1, summary).text())
             .text());
}

void EventLog::scalar(std::string_view tag, int64_t step, double value) {
  write(step, Message().bytes(1, tag).float32(2, static_cast<float>(value)).text());
}

void EventLog::image(std::string_view tag, int64_t step, const at::Tensor& picture) {
  constexpr int kRgb = 3;
  const std::vector<std::byte> png = io::encode_png(picture);
  const std::string image = Message()
                                .varint(1, static_cast<uint64_t>(picture.size(0)))
                                .varint(2, static_cast<uint64_t>(picture.size(1)))
                                .varint(3, kRgb)
                                .bytes(4, {reinterpret_cast<const char*>(png.data()), png.size()})
                                .text();
  write(step, Message().bytes(1, tag).bytes(4, image).text());
}

}  // namespace loci::train
