// SPDX-License-Identifier: Apache-2.0
// A table of implementations by name. Built-in and user implementations are in the same table.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loci/base/choice.h"
#include "loci/base/error.h"

namespace loci::memory {

template <typename Factory>
class Registry {
 public:
  struct Entry {
    std::string name;
    std::string description;  // one line
    Factory make;
  };

  // `what` names the kind of entries in errors, for example "history policy".
  Registry(std::string what, std::vector<Entry> built_in)
      : what_(std::move(what)), entries_(std::move(built_in)) {}

  // A name that exists already is a programming error.
  void add(Entry entry) {
    LOCI_CHECK(find(entry.name) == nullptr, "the {} '{}' is registered already", what_, entry.name);
    entries_.push_back(std::move(entry));
  }
  const Entry& at(std::string_view name) const {
    const Entry* entry = find(name);
    if (entry == nullptr) fail_choice(what_, name, names());
    return *entry;
  }
  // In the order of registration.
  const std::vector<Entry>& entries() const { return entries_; }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const Entry& entry : entries_) all.push_back(entry.name);
    return all;
  }

 private:
  const Entry* find(std::string_view name) const {
    const auto found = std::ranges::find(entries_, name, &Entry::name);
    return found == entries_.end() ? nullptr : &*found;
  }

  std::string what_;
  std::vector<Entry> entries_;
};

}  // namespace loci::memory
