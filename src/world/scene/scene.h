// SPDX-License-Identifier: Apache-2.0
// A procedural scene, generated from a seed: geometry, captions and viewpoints.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loci/world/scene/builder.h"
#include "loci/world/scene/mood.h"
#include "loci/world/scene/scene_geometry.h"

namespace loci::world {

enum class Style { kTown, kCourtyard, kForest, kDesert, kInterior, kRuins, kGarden };

inline constexpr std::array kTrainingStyles = {Style::kTown, Style::kCourtyard, Style::kForest,
                                               Style::kDesert, Style::kInterior};
// Never used in training, to test models on unseen kinds of scenes.
inline constexpr std::array kHeldOutStyles = {Style::kRuins, Style::kGarden};

std::string_view name_of(Style style);
std::string_view name_of(Time time);
std::string_view name_of(Weather weather);
// An unknown name is bad input that lists the names.
Style parse_style(std::string_view name);
Time parse_time(std::string_view name);
Weather parse_weather(std::string_view name);

// Properties that are not set are derived from the seed.
struct SceneOptions {
  std::optional<Style> style;
  std::optional<Time> time;
  std::optional<Weather> weather;
};

struct Scene {
  uint64_t seed = 0;
  Style style = Style::kTown;
  Mood mood;
  SceneGeometry geometry;
  std::vector<std::string> features;  // such as "a red tower", the most prominent first
  std::vector<std::string> captions;  // the caption, then paraphrases of it
  std::vector<Place> viewpoints;      // good camera places; `turn` is a good direction to look
  float trajectory_radius = 24;       // cameras stay within this distance of the origin, metres
};

// The scene is determined by seed and options, bit by bit, on every machine.
Scene make_scene(uint64_t seed, const SceneOptions& options = {});

}  // namespace loci::world
