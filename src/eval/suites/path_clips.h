// SPDX-License-Identifier: Apache-2.0
// Clips that start from the first frame of a recording, or from a picture, and follow designed
// paths. There is no ground truth beyond that frame.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "loci/eval/suites/eval_clips.h"

namespace loci::eval {

// Name of the route that is the recording's own path.
inline constexpr std::string_view kRecordedRoute = "recorded";
// Name that stands for the seven designed paths of the paper's set C: static, straight, spin,
// look_around, look_around_pitch, forward_back and square.
inline constexpr std::string_view kSetC = "set-c";

// The first frame of every recording combined with every route; clips are named "recording, route".
// A route is a preset of camera/path/presets.h, a key string such as left-32,right-32,
// kRecordedRoute or kSetC. A folder that contains pictures and no videos gives one start per
// picture, with the lens of `format`; NAME.txt is the caption of NAME.png. The last pose of a route
// is repeated until the last chunk is full. `seconds` is the length of presets and the maximum
// length of recordings.
std::unique_ptr<EvalClips> open_paths(const std::filesystem::path& folder, const ClipFormat& format,
                                      const std::vector<std::string>& routes, double seconds,
                                      std::optional<int64_t> count);

// Key strings whose second half reverses the first: turns to both sides, and movements out and
// back.
const std::vector<std::string>& return_routes();

}  // namespace loci::eval
