// SPDX-License-Identifier: Apache-2.0
// Names chosen from a fixed list. Every error for an unknown name lists the valid ones.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "loci/base/error.h"

namespace loci {

// "unknown solver 'eular' (did you mean 'euler'?); choose one of: euler, unipc, mean". `what` is
// the kind of name. Without choices the list is left out.
std::string unknown_choice(std::string_view what, std::string_view name,
                           const std::vector<std::string>& choices);

// Bad input with the message of unknown_choice(). `choices` is a range of strings or string views.
template <typename Choices>
[[noreturn]] void fail_choice(std::string_view what, std::string_view name,
                              const Choices& choices) {
  const std::vector<std::string> list(std::begin(choices), std::end(choices));
  throw Error(ErrorKind::kBadInput, unknown_choice(what, name, list));
}

// The index of `name` in `choices`. A name that is not in the list is bad input.
template <typename Choices>
size_t choice_index(std::string_view what, std::string_view name, const Choices& choices) {
  size_t index = 0;
  for (const auto& choice : choices) {
    if (std::string_view(choice) == name) return index;
    ++index;
  }
  fail_choice(what, name, choices);
}

}  // namespace loci
