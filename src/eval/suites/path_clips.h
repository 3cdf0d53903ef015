// SPDX-License-Identifier: Apache-2.0
// Clips that start from the first frame of a recording and go along designed paths: nothing but
// that frame was recorded.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "loci/eval/suites/eval_clips.h"

namespace loci::eval {

// The route that is a recording's own path.
inline constexpr std::string_view kRecordedRoute = "recorded";

// Every recording's first frame with every route, named "recording, route". A route is a preset of
// camera/path/presets.h, a key string such as left-32,right-32, or kRecordedRoute. Routes hold their
// last pose until whole chunks are full; presets and recordings take `seconds`, at most.
std::unique_ptr<EvalClips> open_paths(const std::filesystem::path& folder, const ClipFormat& format,
                                      const std::vector<std::string>& routes, double seconds,
                                      std::optional<int64_t> count);

// Key strings whose second half undoes the first: turning either way, and walking out and back.
const std::vector<std::string>& return_routes();

}  // namespace loci::eval
