// SPDX-License-Identifier: Apache-2.0
// All history policies by name: the built-in ones and those that a program registers. Every option,
// config key and protocol field that names a history policy accepts both. docs/extending.md has a
// worked example.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loci/memory/history/history_policy.h"
#include "loci/memory/registry.h"

namespace loci::memory {

// A policy by name and its budget.
struct HistoryOptions {
  std::string kind = "sparse";
  int64_t budget = 29;  // maximum number of frames, excluding the chunk's own; dense ignores it
  int64_t recent = 8;   // how many of them are recent; window has all but its sink
  // Maximum number of frames in the archive of a retrieving policy: 0 = no limit, for landmarks
  // 256.
  int64_t archive = 0;
  // Of window and frustum: frames from the start of the stream.
  int64_t sink = WindowOptions().sink_frames;
  int64_t chunk = FrustumOptions().chunk_frames;  // frames of a chunk, for frustum
  double aspect = 1.5;                            // width / height of the frames

  // Sets the budget, and `recent` to its default or to all frames but the first if those are fewer.
  void set_budget(int64_t frames);
};

// Makes a policy whose frame_budget() is at most options.budget. The budget is at least 2 and
// 0 <= options.recent < options.budget.
using HistoryFactory = std::function<std::unique_ptr<HistoryPolicy>(const HistoryOptions& options)>;
using HistoryKind = Registry<HistoryFactory>::Entry;

// Adds a policy. Call it before anything else: the table is not locked. Throws if the name is
// taken.
void register_history(HistoryKind kind);

// dense, sparse, pinned, window, overlap, plain_overlap, landmarks, content, frustum, then
// registered ones.
const std::vector<HistoryKind>& history_kinds();
std::vector<std::string> history_names();

// Budget 0 keeps nothing and budget 1 the first frame, whatever the kind (except dense). Larger
// budgets need at least one recent frame.
std::unique_ptr<HistoryPolicy> make_history(const HistoryOptions& options);
// The same for training windows, which may have no recent frames. Policies that need content are
// bad input.
std::unique_ptr<HistoryPolicy> make_training_history(const HistoryOptions& options);

}  // namespace loci::memory
