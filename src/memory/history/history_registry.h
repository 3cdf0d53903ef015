// SPDX-License-Identifier: Apache-2.0
// Policies of other programs under names of their own: whatever takes the name of a history takes
// theirs, too. docs/extending.md has a worked example.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "loci/memory/history/history_policy.h"

namespace loci::memory {

// Makes a policy within options.budget, which is 2 or more with at least one recent frame.
using HistoryFactory = std::function<std::unique_ptr<HistoryPolicy>(const HistoryOptions& options)>;

// To be called before anything else, as the names are not locked. A name that is taken is a
// programmer's error.
void register_history(const std::string& name, HistoryFactory factory);

}  // namespace loci::memory
