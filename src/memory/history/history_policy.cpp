// SPDX-License-Identifier: Apache-2.0
#include "loci/memory/history/history_policy.h"

#include "loci/base/error.h"

namespace loci::memory {

std::string_view name_of(FrameRole role) {
  switch (role) {
    case FrameRole::kSink:
      return "sink";
    case FrameRole::kBank:
      return "bank";
    case FrameRole::kRecent:
      return "recent";
  }
  fail_check("a frame role of value {}", static_cast<int64_t>(role));
}

void check_retained(const std::vector<RetainedFrame>& frames, int64_t most,
                    std::string_view policy) {
  if (most > 0 && std::ssize(frames) > most) {
    fail("the saved history has {} frames; the policy '{}' keeps at most {}", frames.size(), policy,
         most);
  }
  int64_t last = -1;
  for (const RetainedFrame& each : frames) {
    if (each.frame.index <= last) {
      fail("the saved history has frame {} after frame {}; frames must ascend", each.frame.index,
           last);
    }
    last = each.frame.index;
  }
}

}  // namespace loci::memory
