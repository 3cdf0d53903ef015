// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/protocol/msgpack_scan.h"

#include <cstdint>
#include <vector>

#include "loci/serve/net/refusal.h"

namespace loci::serve {

namespace {

class Scanner {
 public:
  Scanner(std::string_view bytes, int depth_limit) : bytes_(bytes), depth_limit_(depth_limit) {}

  void run() {
    std::vector<uint64_t> open = {1};  // remaining items, by level
    while (!open.empty()) {
      if (open.back() == 0) {
        open.pop_back();
        continue;
      }
      --open.back();
      const uint64_t items = value();
      if (items == 0) continue;
      // Every item has at least one byte.
      if (items > bytes_.size() - at_) broken();
      if (static_cast<int>(open.size()) > depth_limit_) {
        refuse("bad_message", "the message is nested more than {} levels deep", depth_limit_);
      }
      open.push_back(items);
    }
    if (at_ != bytes_.size()) broken();
  }

 private:
  [[noreturn]] static void broken() {
    refuse("bad_message", "the message is not valid MessagePack");
  }

  uint64_t number(size_t size) {
    uint64_t value = 0;
    for (const char c : take(size)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }
  std::string_view take(uint64_t size) {
    if (size > bytes_.size() - at_) broken();
    const std::string_view part = bytes_.substr(at_, size);
    at_ += size;
    return part;
  }

  // Skips the header of one value. Returns the number of values inside of it.
  uint64_t value() {
    const uint64_t tag = number(1);
    if (tag <= 0x7f || tag >= 0xe0 || tag == 0xc0 || tag == 0xc2 || tag == 0xc3) return 0;
    if (tag <= 0x8f) return 2 * (tag & 0x0f);
    if (tag <= 0x9f) return tag & 0x0f;
    if (tag <= 0xbf) return skip(tag & 0x1f);
    switch (tag) {
      case 0xc4:
      case 0xd9:
        return skip(number(1));
      case 0xc5:
      case 0xda:
        return skip(number(2));
      case 0xc6:
      case 0xdb:
        return skip(number(4));
      case 0xca:
      case 0xce:
      case 0xd2:
        return skip(4);
      case 0xcb:
      case 0xcf:
      case 0xd3:
        return skip(8);
      case 0xcc:
      case 0xd0:
        return skip(1);
      case 0xcd:
      case 0xd1:
        return skip(2);
      case 0xdc:
        return number(2);
      case 0xdd:
        return number(4);
      case 0xde:
        return 2 * number(2);
      case 0xdf:
        return 2 * number(4);
      default:
        broken();  // extension types are not used
    }
  }
  uint64_t skip(uint64_t size) {
    take(size);
    return 0;
  }

  std::string_view bytes_;
  int depth_limit_;
  size_t at_ = 0;
};

}  // namespace

void check_msgpack(std::string_view bytes, int depth_limit) { Scanner(bytes, depth_limit).run(); }

}  // namespace loci::serve
