// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/protocol/ids.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "loci/base/error.h"

namespace loci::serve {

namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz234567";
constexpr size_t kLength = 26;

}  // namespace

std::string new_id(std::string_view prefix) {
  std::array<unsigned char, kLength> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    fail_machine("the system provides no random numbers (getrandom failed)");
  }
  std::string id(prefix);
  id += '_';
  for (const unsigned char byte : random) id += kLetters[byte % kLetters.size()];
  return id;
}

bool is_id(std::string_view text, std::string_view prefix) {
  if (text.size() != prefix.size() + 1 + kLength || !text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  if (text.front() != '_') return false;
  text.remove_prefix(1);
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return kLetters.find(c) != std::string_view::npos; });
}

int64_t unix_time() { return unix_microseconds() / 1'000'000; }

int64_t unix_microseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

bool equal_secrets(std::string_view a, std::string_view b) {
  // The length of a secret need not be hidden.
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(static_cast<unsigned char>(a[i]) ^
                                             static_cast<unsigned char>(b[i]));
  }
  return difference == 0;
}

}  // namespace loci::serve
